// Future events by tick: a ring of lists, one for each of the next ticks.
//
// Delays are bounded, so an event is appended directly to the list of its tick: no heap, no
// comparison. The ring is no longer than the longest delay needs: lists that are reused soon are
// still in the cache. Lists keep their memory, so nothing is allocated once they have grown.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::simulator::engine {

template <typename Event> class Wheel {
public:
  explicit Wheel(std::uint64_t longest_delay)
      : lists_(std::bit_ceil(longest_delay + 1)), mask_(lists_.size() - 1) {}

  /// The list of a tick, to append to. Requires now < at <= now + the longest delay.
  [[nodiscard]] std::vector<Event>& at(std::uint64_t tick) { return lists_[tick & mask_]; }
  /// The events of this tick, first added first. Stays valid while events are added for later ones.
  [[nodiscard]] std::span<const Event> due(std::uint64_t now) const { return lists_[now & mask_]; }
  void forget(std::uint64_t now) { lists_[now & mask_].clear(); }
  template <typename F> void for_each(F&& f) const {
    for (const std::vector<Event>& list : lists_) {
      for (const Event& event : list) {
        f(event);
      }
    }
  }

private:
  std::vector<std::vector<Event>> lists_;
  std::uint64_t mask_;
};

} // namespace tributary::simulator::engine
