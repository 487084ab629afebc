// Which frames a full queue trims to their headers (docs/protocol/rdma.md, "Trimmed frames"): RDMA
// data, distinguished from foreign and damaged frames. Called for frames that find no room, so it
// need not be fast, but must be exact: trimming destroys any other frame.
//
// Pure functions on bytes.
#pragma once

#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/rdma.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::egress {

/// Length of a trimmed frame.
inline constexpr std::uint32_t trimmed_frame_bytes = wire::rdma_overhead_bytes;

/// `start`: the frame, or its first contiguous part.
inline bool has_unicast_header(std::span<const std::byte> start, std::uint16_t ethertype) {
  if (start.size() < trimmed_frame_bytes || wire::ethertype_of(start.data()) != ethertype) {
    return false;
  }
  const std::byte* const p = start.data() + wire::ethernet_header_bytes;
  return p[wire::portals_offset::version_ihl] == std::byte{wire::portals_version_ihl} &&
         wire::fabric_header_checksum_ok(p) && !wire::dfa_of(p).is_multicast();
}

/// Whether wire::trim() may be applied. `length`: of the whole frame.
inline bool may_trim(std::span<const std::byte> start, std::uint32_t length,
                     std::uint16_t ethertype) {
  return length > trimmed_frame_bytes && has_unicast_header(start, ethertype) &&
         wire::total_length_of(start.data() + wire::ethernet_header_bytes) <=
             length - wire::ethernet_header_bytes &&
         wire::is_trimmable({start.data(), length});
}

/// Whether a switch has trimmed it: this one, or a previous one.
inline bool was_trimmed(std::span<const std::byte> start, std::uint16_t ethertype) {
  return start.size() == trimmed_frame_bytes && has_unicast_header(start, ethertype) &&
         wire::is_trimmed(start);
}

} // namespace tributary::egress
