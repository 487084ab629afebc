// Which decisions a switch remembers for people.
#pragma once

#include "dataplane/core/decision.hpp"

#include <cstdint>

namespace tributary::core {

enum class Tracing : std::uint8_t {
  off,
  notable, ///< all but unicast that goes its way: of bulk transfers there is so much of it that
           ///< nothing else would be left after a millisecond
  everything,
};

/// Whether it is all that `notable` leaves out.
constexpr bool goes_its_way(Action action, Event event) {
  return action == Action::forward && event == Event::unicast;
}

/// The same in one comparison.
constexpr bool goes_its_way(PackedDecision decision) {
  constexpr std::uint64_t mask = decided(Action{0xFF}, Event{0xFF}, {}, 0, 0, {}).rest;
  return (decision.rest & mask) == decided(Action::forward, Event::unicast, {}, 0, 0, {}).rest;
}

} // namespace tributary::core
