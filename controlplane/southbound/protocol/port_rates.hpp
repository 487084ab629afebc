// What a port does in a second: the difference of two reports of its switch. Pure.
#pragma once

#include "tributary/control.pb.h"

#include <cstdint>
#include <string_view>

namespace tributary::southbound::protocol {

/// Each a second, but for `paused`.
struct PortRates {
  double received_frames = 0;
  double sent_frames = 0;
  double received_bytes = 0;
  double sent_bytes = 0;
  double drops = 0;   ///< frames, for any reason but repeats
  double repeats = 0; ///< frames
  double paused = 0; ///< part of the time in which the neighbour kept a class from being sent, to 1
};

/// Frames that a port dropped. Repeats are no loss: a contribution is sent again when its result is
/// late, and the switch drops the copy of one that it had. A correct run has them.
struct Dropped {
  std::uint64_t drops = 0;   ///< for all other reasons
  std::uint64_t repeats = 0; ///< `stale_sequence` and `counted_twice`
};
[[nodiscard]] bool is_repeat(std::string_view drop_reason);
[[nodiscard]] Dropped dropped_by(const control::PortStatistics& port);

/// All 0 where no time passed, or a count is less than it was: the switch counts anew.
[[nodiscard]] PortRates rates_between(const control::PortStatistics& before,
                                      const control::PortStatistics& after, std::uint64_t ns);

} // namespace tributary::southbound::protocol
