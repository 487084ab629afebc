// Events as they come, in any order and any number of times, into events as they happened: each
// once, by their sequence.
//
// libpmix 4.2 replays what it kept newest first, repeats it, and brings some events twice; some it
// does not bring at all to who registers late. None of that goes further than this: what is ahead
// of its turn is held, and `gap` says what is to be asked for.
//
//   sequencer.arrived(event);
//   while (auto next = sequencer.take()) ...
//   if (auto gap = sequencer.gap()) ask for those behind gap->after
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
  /// Held ahead of a hole; beyond that the hole is given up.
  static constexpr std::size_t most_held = 4096;
  /// Held where nobody takes any: what comes beyond that is asked for later.
  static constexpr std::size_t most_untaken = 2 * most_held;

  void arrived(Event event);
  /// The next one in order, if it is there.
  [[nodiscard]] std::optional<Event> take();

  struct Gap {
    std::uint64_t after = 0; ///< the last one in front of it
    std::uint64_t next = 0;  ///< the first one that is held
  };
  /// What keeps those that are held from being taken.
  [[nodiscard]] std::optional<Gap> gap() const;
  /// Those in front of `first` cannot be had any more. An event of code events_lost stands for
  /// them, if any of them was not taken yet.
  void give_up_before(std::uint64_t first);

  /// The last one that was taken, or can be.
  [[nodiscard]] std::uint64_t newest() const;
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }

private:
  std::map<std::uint64_t, Event> held_;
  std::uint64_t taken_ = 0;
  std::uint64_t repeated_ = 0; ///< that came once more
  std::uint64_t refused_ = 0;  ///< the newest for which there was no room
};

} // namespace tributary::events
