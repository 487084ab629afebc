// Port kinds that the machine's processor supports, for a switch or a generator.
//
// DPDK's net_af_packet shares a ring of frames with the kernel without a barrier: it reads the
// status of a slot, and then its length and bytes, as plain memory. x86 loads them in that order. A
// processor that may load the bytes first may see those of the previous frame, or of both, and no
// checksum of a reduction frame would reveal it.
#pragma once

#include "dataplane/config/config.hpp"

#include <cstdint>
#include <string_view>

namespace tributary::config {

/// Order in which other cores see a processor's loads and stores without explicit barriers.
enum class MemoryOrder : std::uint8_t {
  as_written, ///< except a store before a later load, as on x86
  any,
};

#if defined(__x86_64__) || defined(__i386__)
inline constexpr MemoryOrder memory_order_of_this_processor = MemoryOrder::as_written;
#else
inline constexpr MemoryOrder memory_order_of_this_processor = MemoryOrder::any;
#endif

/// Why a port of this kind is unsupported, and what to use instead; empty if it is supported.
constexpr std::string_view refusal_of(PortKind kind, MemoryOrder order) {
  if (kind == PortKind::af_packet && order == MemoryOrder::any) {
    return "af_packet is not safe on this processor: DPDK's driver has no memory barrier, and may "
           "read a frame before the kernel has written all of it; use af_xdp, pci or memif";
  }
  return {};
}

/// The alternative to suggest where af_xdp is unsuitable, for example for longer frames.
constexpr PortKind instead_of_af_xdp(MemoryOrder order) {
  return refusal_of(PortKind::af_packet, order).empty() ? PortKind::af_packet : PortKind::pci;
}
/// The same as a phrase.
constexpr std::string_view words_instead_of_af_xdp(MemoryOrder order) {
  return instead_of_af_xdp(order) == PortKind::af_packet
             ? "kind = \"af_packet\", or a NIC of kind \"pci\""
             : "a NIC of kind \"pci\"";
}

} // namespace tributary::config
