// How the group of another one's multicasts is set up: the same at all members, for it follows from
// the parameters of a context, which all have.
#pragma once

#include "endpoint/reliable_multicast/parameters.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary::library {

/// Windows in flight, of as many ids.
inline constexpr std::uint32_t most_windows = 4;
/// Chunks that all members together have outstanding on a tree: half of the frames that the queue
/// of a port holds (docs/protocol/queues.md). Groups of a tree that multicast at the same time have
/// it each: what does not fit is lost, and sent again.
inline constexpr std::uint32_t most_chunks_outstanding = 256;
/// Chunks of a group without wide frames: every link carries them.
inline constexpr std::uint32_t narrow_chunk_bytes = 1'024;

/// `context`: a range of ids of a tree that is shared.
[[nodiscard]] inline reliable_multicast::Parameters
multicast_parameters(const collective::GroupParameters& context) {
  reliable_multicast::Parameters p{.group = context, .nids = {}};
  p.group.slots = std::min(context.slots, most_windows);
  p.group.window = p.group.slots;
  p.chunk_bytes = context.is_wide() ? context.payload : narrow_chunk_bytes;
  p.window_chunks =
      std::min(most_chunks_outstanding / p.group.slots, reliable_multicast::most_window_chunks);
  return p;
}

/// Bytes of received frames that may wait: what all senders may have outstanding, with the kernel's
/// overhead, and as much again for what is sent twice.
[[nodiscard]] inline std::size_t receive_bytes(const reliable_multicast::Parameters& p) {
  constexpr std::size_t around = 1024;
  return std::size_t{2} * p.windows() * p.window_chunks * (p.chunk_bytes + around);
}

} // namespace tributary::library
