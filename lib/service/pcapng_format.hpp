// Numbers of the pcapng format that are both written and read (IETF draft-ietf-opsawg-pcapng).
#pragma once

#include <cstdint>

namespace tributary::service {

inline constexpr std::uint32_t statistics_type = 5;
inline constexpr std::uint32_t enhanced_packet_type = 6;
/// An option of a statistics block: frames the operating system dropped, eight bytes.
inline constexpr std::uint16_t dropped_by_system = 7;

} // namespace tributary::service
