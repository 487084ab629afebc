// When to look at which context next. A binary heap over their numbers, with the place of each one:
// O(log n) to bring a time forward, nothing at all to postpone it.
//
// Times are lower bounds. A sink's timer moves on with every frame that arrives; the owner then
// only stores the later time, and arms it again when it is called too early:
//
//   while ((i = timers.due(now)) != none) { ...look at i...; timers.arm(i, when to look again); }
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tributary::rdma {

class TimerHeap {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// For numbers below `count`; allocates for all.
  explicit TimerHeap(std::size_t count) : places_(count, none) { heap_.reserve(count); }

  /// Looks at `i` at this time, or earlier. `never` does nothing.
  void arm(std::uint32_t i, TimeNs at) {
    if (at == never) {
      return;
    }
    std::uint32_t place = places_[i];
    if (place == none) {
      place = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({at, i});
    } else if (heap_[place].at <= at) {
      return;
    }
    sift_up(place, {at, i});
  }
  /// Takes out one that is due; `none` if none is.
  std::uint32_t due(TimeNs now) {
    if (heap_.empty() || heap_.front().at > now) {
      return none;
    }
    const std::uint32_t i = heap_.front().index;
    places_[i] = none;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sift_down(last);
    }
    return i;
  }
  [[nodiscard]] TimeNs next() const { return heap_.empty() ? never : heap_.front().at; }

private:
  struct Entry {
    TimeNs at;
    std::uint32_t index;
  };
  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    places_[entry.index] = static_cast<std::uint32_t>(place);
  }
  void sift_up(std::size_t place, const Entry& entry) {
    while (place > 0 && entry.at < heap_[(place - 1) / 2].at) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    put(place, entry);
  }
  void sift_down(const Entry& entry) {
    std::size_t place = 0;
    for (;;) {
      std::size_t child = 2 * place + 1;
      if (child >= heap_.size()) {
        break;
      }
      if (child + 1 < heap_.size() && heap_[child + 1].at < heap_[child].at) {
        ++child;
      }
      if (entry.at <= heap_[child].at) {
        break;
      }
      put(place, heap_[child]);
      place = child;
    }
    put(place, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> places_;
};

} // namespace tributary::rdma
