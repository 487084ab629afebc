// What the root has found out about a window that does not become complete, and why a group ended.
// It tells the leaves in a notice: a frame of sequence 1022 as in endpoint/collective/notice.hpp,
// under the acknowledgement's id.
//
//   payload  bits   content
//   word 0   0-7    what: 16 ranks do not acknowledge, 17 the same, and the group has ended, 18 a
//                   rank lacks chunks, 19 the same, and the group has ended, 20 calls differ, and
//                   the group has ended, 21 ended from outside
//            8-27   16, 17: how many. 18, 19: the rank that lacks most. 20: the other rank
//            28-47  18, 19: the owner of the first chunk that it lacks
//            48-63  18, 19: how many it lacks
//   words 1 to 3    16, 17: up to eight ranks, three to a word, 20 bits each, lowest first
//   word 1   0-53   20: bytes of the root's call
//            54-63  20: its opcode (6 bits) and element type (4 bits), of a reduction
//   word 2   0-63   20: the same of the other's
//   word 3   0-27   20: kind (8 bits) and root (20 bits) of the root's call; 28-55 of the other's
#pragma once

#include "endpoint/collective/missing_ranks.hpp"
#include "endpoint/reliable_multicast/operation.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstdint>
#include <optional>

namespace tributary::reliable_multicast {

struct Verdict {
  enum class What : std::uint8_t {
    not_acknowledging, ///< `missing` do not acknowledge: dead, cut off, or not in the call
    lacks_chunks,      ///< `rank` lacks `chunks` chunks, the first of them of rank `owner`
    calls_differ,      ///< rank `rank` made another call than the root
    ended,             ///< the group ended from outside
  };
  What what = What::not_acknowledging;
  bool group_ended = false; ///< always with calls_differ and ended
  collective::MissingRanks missing{};
  std::uint32_t rank = 0;
  std::uint32_t owner = 0;
  std::uint32_t chunks = 0;
  CallShape root_call{};
  CallShape other_call{};
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

[[nodiscard]] wire::Payload payload_of(const Verdict& verdict);
/// nullopt if the payload is none.
[[nodiscard]] std::optional<Verdict> verdict_in(const wire::Payload& payload);

} // namespace tributary::reliable_multicast
