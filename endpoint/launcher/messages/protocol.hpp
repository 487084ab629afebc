// Common definitions of both ends of the launch channel, besides its messages.
#pragma once

#include "launch.pb.h"

#include <cstdint>

namespace tributary::launch::messages {

/// Changed with every change that an older daemon would not understand.
inline constexpr std::uint32_t launch_protocol = 3;

// Statuses and events of PMIx (pmix_common.h), for rooms that are built without it.
inline constexpr int success = 0;
inline constexpr int proc_aborted = -7;
inline constexpr int timed_out = -24;
inline constexpr int unreachable = -25;
inline constexpr int bad_parameter = -27;
inline constexpr int out_of_resource = -29;
inline constexpr int not_found = -46;
inline constexpr int not_supported = -47;
inline constexpr int lost_connection = -61;
inline constexpr int ended_without_sync = -200;

} // namespace tributary::launch::messages
