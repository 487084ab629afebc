// What the members of a group must know of its multicasts before the first frame. All but `group`'s
// rank and addresses must be the same at every member.
#pragma once

#include "endpoint/collective/group_parameters.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::reliable_multicast {

/// Chunks of a window at most: bits of the three words of an acknowledgement.
inline constexpr std::uint32_t most_window_chunks = 192;

struct Parameters {
  /// The members, their tree and their times. `slots` ids from `first_id` on are used for
  /// acknowledgements and nothing else: S, the windows in flight. No other group has its `cookie`.
  collective::GroupParameters group;
  /// The NID of each rank; empty where they are not known: the first frame of a rank then tells.
  std::vector<Nid> nids;
  /// P, the bytes of a chunk: a multiple of 8, at least 40, that fits one frame of all links.
  std::uint32_t chunk_bytes = 1408;
  /// K, the chunks of a window. S x K x P bounds what all senders together have outstanding.
  std::uint32_t window_chunks = 64;
  /// Members reduce blocks instead, and each gets the results of its own (pieces.cpp):
  /// `window_chunks` is then at most 64, and S x K further ids of the tree, from `first_piece` on,
  /// are used for that.
  bool reduces = false;
  ReductionId first_piece{0};
  /// A sender returns before its last chunks are acknowledged if they are at most this many bytes,
  /// which it has then copied.
  std::uint64_t eager_bytes = 64U << 10U;
  /// The least time without new data of a window after which a receiver says what it lacks: longer
  /// than a host may be descheduled.
  std::uint64_t gap_ns = 10'000'000;

  [[nodiscard]] std::uint32_t windows() const { return group.slots; }
  /// Ids of pieces of reductions.
  [[nodiscard]] std::uint32_t pieces() const { return reduces ? windows() * window_chunks : 0; }
};

/// A message for people about what is wrong with these parameters, or an empty string.
[[nodiscard]] std::string fault_of(const Parameters& parameters);

} // namespace tributary::reliable_multicast
