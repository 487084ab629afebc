// Turns events in order of arrival, reordered and repeated, into events in order of occurrence:
// each once, by its sequence.
//
// libpmix 4.2 replays what it kept newest first, repeats it, and delivers some events twice; some
// it does not deliver at all to a process that registers late. The sequencer hides this: events
// ahead of their turn are held, and `gap` says what is to be asked for.
//
//   sequencer.arrived(event);
//   while (auto next = sequencer.take()) ...
//   if (auto gap = sequencer.gap()) ask for the events after gap->after
//
// Pure.
#pragma once

#include "endpoint/events/event.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace tributary::events {

class Sequencer {
public:
  /// Number of events held ahead of a hole; beyond that the hole is given up.
  static constexpr std::size_t most_held = 4096;
  /// Number of untaken events that are held; what arrives beyond that is asked for later.
  static constexpr std::size_t most_untaken = 2 * most_held;

  void arrived(Event event);
  /// The next one in order, if it has arrived.
  [[nodiscard]] std::optional<Event> take();

  struct Gap {
    std::uint64_t after = 0; ///< the last one before the hole
    std::uint64_t next = 0;  ///< the first one that is held
  };
  /// The hole that held events wait for.
  [[nodiscard]] std::optional<Gap> gap() const;
  /// Events before `first` are no longer available. An event of code events_lost replaces them, if
  /// any of them was not taken yet.
  void give_up_before(std::uint64_t first);

  /// The last one that was taken, or can be.
  [[nodiscard]] std::uint64_t newest() const;
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }

private:
  std::map<std::uint64_t, Event> held_;
  std::uint64_t taken_ = 0;
  std::uint64_t repeated_ = 0; ///< events that arrived again
  std::uint64_t refused_ = 0;  ///< the newest one for which there was no room
};

} // namespace tributary::events
