// What a port does in a second: the difference of two reports of its switch. Pure.
#pragma once

#include "tributary/control.pb.h"

#include <cstdint>

namespace tributary::southbound::protocol {

/// Each a second, but for `paused`.
struct PortRates {
  double received_frames = 0;
  double sent_frames = 0;
  double received_bytes = 0;
  double sent_bytes = 0;
  double drops = 0;  ///< frames, for whatever reason
  double paused = 0; ///< part of the time in which the neighbour kept a class from being sent, to 1
};

[[nodiscard]] std::uint64_t drops_of(const control::PortStatistics& port);

/// All 0 where no time passed, or a count is less than it was: the switch counts anew.
[[nodiscard]] PortRates rates_between(const control::PortStatistics& before,
                                      const control::PortStatistics& after, std::uint64_t ns);

} // namespace tributary::southbound::protocol
