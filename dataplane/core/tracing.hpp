// Which decisions a switch remembers for people.
#pragma once

#include "dataplane/core/decision.hpp"
#include "dataplane/core/places.hpp"

#include <cstdint>

namespace tributary::core {

enum class Tracing : std::uint8_t {
  off,
  notable, ///< all but what there is so much of that nothing else would be left after a millisecond:
           ///< unicast that goes its way, and contributions that an engine absorbs
  everything,
};

/// The second word of a decision as far as it says what happened.
constexpr std::uint64_t what_happened(PackedDecision decision) {
  return decision.rest & decided(Action{0xFF}, Event{0xFF}, {}, 0, 0, {}).rest;
}

/// Whether it is all that `notable` leaves out of unicast.
constexpr bool goes_its_way(PackedDecision decision) {
  return what_happened(decision) == decided(Action::forward, Event::unicast, {}, 0, 0, {}).rest;
}
constexpr bool goes_its_way(Action action, Event event) {
  return action == Action::forward && event == Event::unicast;
}

/// Whether it is all that `notable` leaves out of reductions.
constexpr bool is_contribution(PackedDecision decision) {
  return what_happened(decision) == decided(Action::absorb, Event::contributed, {}, 0, 0, {}).rest;
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

/// What is known of the decisions about a burst without a look at each of them.
struct BurstOutcome {
  Places notable;
  Places others; ///< all but contributions that an engine absorbed
};

} // namespace tributary::core
