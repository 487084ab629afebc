// Work on a list in stages, so that memory is asked for long before it is needed.
//
//   in_stages(list, [&](Event e) { fetch(&buffers[e.buffer]); },
//                   [&](Event e) { handle(buffers[e.buffer]); });
//
// Each stage sees the events in order, and each event passes the stages in order; a stage is
// `stage_distance` events behind the previous one. The data that a fabric of thousands of hosts
// needs in a tick exceeds the cache of a core: processed one by one, every event would wait for
// several lines; in stages, lines of many events are fetched at the same time.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::simulator::engine {

inline constexpr std::size_t stage_distance = 6;

/// A line that will be read and written.
template <typename T> void fetch(const T* what) {
  __builtin_prefetch(what, 1);
  // g++ takes a function that only prefetches for one without an effect, and drops its calls.
  asm volatile("");
}

/// Stages must not add to the list.
template <typename Event, typename... Stages>
void in_stages(std::span<Event> events, Stages&&... stages) {
  constexpr std::size_t lag = (sizeof...(Stages) - 1) * stage_distance; // distance of the last
                                                                        // stage
  const std::size_t end = events.empty() ? 0 : events.size() + lag;
  for (std::size_t i = 0; i < end; ++i) {
    std::size_t at = i + stage_distance;
    const auto step = [&](auto& stage) {
      if ((at -= stage_distance) < events.size()) { // those before the first are huge numbers
        stage(events[at]);
      }
    };
    (step(stages), ...);
  }
}

} // namespace tributary::simulator::engine
