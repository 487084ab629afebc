// Rates of a port per second: the difference of two reports of its switch. Pure.
#pragma once

#include "tributary/control.pb.h"

#include <cstdint>
#include <string_view>

namespace tributary::southbound::protocol {

/// All per second, except `paused`.
struct PortRates {
  double received_frames = 0;
  double sent_frames = 0;
  double received_bytes = 0;
  double sent_bytes = 0;
  double drops = 0;   ///< frames, for any reason except repeats
  double repeats = 0; ///< frames
  double paused = 0;  ///< fraction of time in which the neighbour paused a class, 0 to 1
};

/// Frames that a port dropped. Repeats are not losses: a contribution is sent again when its result
/// is late, and the switch drops the copy of one that it had. A correct run has some.
struct Dropped {
  std::uint64_t drops = 0;   ///< for all other reasons
  std::uint64_t repeats = 0; ///< `stale_sequence` and `counted_twice`
};
[[nodiscard]] bool is_repeat(std::string_view drop_reason);
[[nodiscard]] Dropped dropped_by(const control::PortStatistics& port);

/// All 0 where no time passed, or a count has decreased: the switch has restarted its counters.
[[nodiscard]] PortRates rates_between(const control::PortStatistics& before,
                                      const control::PortStatistics& after, std::uint64_t ns);

} // namespace tributary::southbound::protocol
