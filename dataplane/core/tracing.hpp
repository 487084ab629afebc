// Which decisions a switch records for operators.
#pragma once

#include "dataplane/core/decision.hpp"
#include "dataplane/core/places.hpp"

#include <cstdint>

namespace tributary::core {

enum class Tracing : std::uint8_t {
  off,
  notable, ///< all except those that would fill the ring within a millisecond: unicast by its
           ///< normal route, copies on a tree without reductions, contributions absorbed by an
           ///< engine, and what is handed over to another worker
  everything,
};

/// The action and the event in a decision's second word.
constexpr std::uint64_t outcome_of(PackedDecision decision) {
  return decision.rest & decided(Action{0xFF}, Event{0xFF}, {}, 0, 0, {}).rest;
}

/// Whether it is one of the decisions without reductions that `notable` omits.
constexpr bool goes_its_way(PackedDecision decision) {
  return outcome_of(decision) == decided(Action::forward, Event::unicast, {}, 0, 0, {}).rest ||
         outcome_of(decision) == decided(Action::replicate, Event::multicast, {}, 0, 0, {}).rest ||
         outcome_of(decision) == decided(Action::hand_over, Event::handed_over, {}, 0, 0, {}).rest;
}
constexpr bool goes_its_way(Action action, Event event) {
  return (action == Action::forward && event == Event::unicast) ||
         (action == Action::replicate && event == Event::multicast) || action == Action::hand_over;
}

/// Whether it is one of the reduction decisions that `notable` omits.
constexpr bool is_contribution(PackedDecision decision) {
  return outcome_of(decision) == decided(Action::absorb, Event::contributed, {}, 0, 0, {}).rest;
}
constexpr bool is_contribution(Action action, Event event) {
  return action == Action::absorb && event == Event::contributed;
}

constexpr bool is_notable(PackedDecision decision) {
  return !goes_its_way(decision) && !is_contribution(decision);
}
constexpr bool is_notable(Action action, Event event) {
  return !goes_its_way(action, event) && !is_contribution(action, event);
}

/// What is known of a burst's decisions without looking at each of them.
struct BurstOutcome {
  Places notable;
  Places others; ///< all except contributions absorbed by an engine
};

} // namespace tributary::core
