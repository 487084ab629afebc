// The room that the frames of a process need in its buffers, and in the rings that drivers share
// with others. Pure.
//
//   longest frame    as configured, without the FCS; longer ones are dropped as
//                    too_long
//   buffer           the longest frame, plus the 256 bytes that AF_XDP reserves for the kernel in
//                    front of it
//   slot             of a packet socket's ring: as long as a buffer, of which the kernel takes 66
//                    bytes for its own header. The kernel silently truncates longer frames, and
//                    DPDK's driver does not report it. But a truncated frame is still longer than
//                    the longest one, and is dropped as such.
//
// Rings of long frames hold fewer of them, so that no ring exceeds `most_ring_bytes`.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tributary::port {

inline constexpr std::uint32_t kernel_headroom = 256;
/// Buffer sizes are multiples of it, so that a few slots make whole pages.
inline constexpr std::uint32_t buffer_step = 256;
/// In front of a buffer's bytes: the pool's header, the mbuf, and room to prepend to a frame.
inline constexpr std::uint32_t buffer_header_bytes = 64 + 128 + 128;
inline constexpr std::uint32_t most_ring_bytes = 8U << 20;
inline constexpr std::uint32_t most_ring_frames = 2048;

/// Bytes of a buffer for frames of up to `longest_frame`.
constexpr std::uint32_t buffer_bytes_for(std::uint32_t longest_frame) {
  return (longest_frame + kernel_headroom + buffer_step - 1) / buffer_step * buffer_step;
}

/// The longest frame of AF_XDP: its buffer, including headers, must fit into one page.
constexpr std::uint32_t longest_frame_of_af_xdp(std::uint32_t page_bytes) {
  return (page_bytes - buffer_header_bytes) / buffer_step * buffer_step - kernel_headroom;
}

/// The ring of a packet socket. DPDK's driver expects slot after slot without a gap, and the kernel
/// requires blocks of whole pages.
struct PacketRing {
  std::uint32_t slot_bytes;
  std::uint32_t block_bytes;
  std::uint32_t slots;
};
constexpr PacketRing packet_ring_for(std::uint32_t buffer_bytes, std::uint32_t page_bytes) {
  const std::uint32_t slots_per_block = std::max(32U, page_bytes / buffer_step);
  const std::uint32_t block_bytes = buffer_bytes * slots_per_block;
  const std::uint32_t blocks =
      std::min(most_ring_frames / slots_per_block, most_ring_bytes / block_bytes);
  return {buffer_bytes, block_bytes, std::max(blocks, 1U) * slots_per_block};
}

/// Log2 of the number of frames in a memif ring of such buffers.
constexpr unsigned memif_ring_log2(std::uint32_t buffer_bytes) {
  return static_cast<unsigned>(
      std::bit_width(std::min(most_ring_frames, most_ring_bytes / buffer_bytes)) - 1);
}

} // namespace tributary::port
