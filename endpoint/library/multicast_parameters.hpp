// How the group of another one's multicasts is set up, and that of its reductions with results for
// some: the same at all members, for it follows from the parameters of a context, which all have.
#pragma once

#include "endpoint/reliable_multicast/parameters.hpp"
#include "tributary/wire/arm_set.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tributary::library {

/// Windows in flight, of as many ids.
inline constexpr std::uint32_t most_windows = 4;
/// Chunks that all members together have outstanding on a tree: half of the frames that the queue
/// of a port holds (docs/protocol/queues.md). Groups of a tree that multicast at the same time have
/// it each: what does not fit is lost, and sent again.
inline constexpr std::uint32_t most_chunks_outstanding = 256;
/// Chunks of a group without wide frames: every link carries them.
inline constexpr std::uint32_t narrow_chunk_bytes = 1'024;

/// The collectives of a group that have windows (endpoint/reliable_multicast), each with a context
/// of its own.
enum class Lane : std::uint8_t { multicast, reduction };
inline constexpr std::size_t lanes = 2;

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

/// `context`: a range of ids of a tree with in-switch results and wide frames. Some are for
/// acknowledgements, the rest for pieces; nullopt if it is too short.
[[nodiscard]] inline std::optional<reliable_multicast::Parameters>
reduction_parameters(const collective::GroupParameters& context) {
  reliable_multicast::Parameters p{.group = context, .nids = {}};
  if (context.slots < 2) {
    return std::nullopt;
  }
  // In a short range most ids are for pieces.
  const std::uint32_t windows =
      std::clamp(std::bit_floor(context.slots / 8), context.slots < 4 ? 1U : 2U, most_windows);
  p.group.slots = windows;
  p.group.window = windows;
  p.group.tree_slots = context.ids_of_tree();
  p.chunk_bytes = context.payload;
  p.window_chunks = std::min(context.slots / windows - 1, wire::most_armed_at_once);
  p.reduces = true;
  p.first_piece = ReductionId{static_cast<std::uint8_t>(context.first_id.value + windows)};
  return fault_of(p).empty() ? std::optional(p) : std::nullopt;
}

/// The parameters of either lane; nullopt if the context will not do.
[[nodiscard]] inline std::optional<reliable_multicast::Parameters>
lane_parameters(const collective::GroupParameters& context, Lane lane) {
  if (!context.shared) {
    return std::nullopt;
  }
  return lane == Lane::multicast ? std::optional(multicast_parameters(context))
                                 : reduction_parameters(context);
}

/// Bytes of received frames that may wait: what all senders may have outstanding, with the kernel's
/// overhead, and as much again for what is sent twice.
[[nodiscard]] inline std::size_t receive_bytes(const reliable_multicast::Parameters& p) {
  constexpr std::size_t around = 1024;
  return std::size_t{2} * p.windows() * p.window_chunks * (p.chunk_bytes + around);
}

} // namespace tributary::library
