// A notice: what the root sends its leaves besides results. It travels as a frame that opens
// nothing and completes nothing - sequence 1022, unarmed, count 0, the retry bit - so that members
// which do not know it take it for a pre-arm and ignore it. It releases the reduction's descriptors
// on its way; reductions that need them are armed after it.
//
//   payload  bits   content
//   word 0   0-7    what: 1 missing, 2 ended because members are missing, 3 ended because counts
//                   differ, 4 ended for a reason from outside, 5 ended because a result is lost
//            8-27   1, 2, 4: how many ranks are missing. 3: the other member's rank. 5: the rank of
//                   one that has the result
//            28     3: the root was leaving
//            29     3: the other was leaving
//            32-63  the piece that waits, modulo 2^32
//   words 1 to 3    1, 2, 4: up to eight missing ranks, three to a word, 20 bits each, lowest first
//   words 1, 2      3: the elements the root called with, and the other member
#pragma once

#include "endpoint/collective/failure.hpp"
#include "endpoint/collective/missing_ranks.hpp"
#include "endpoint/collective/piece.hpp"
#include "tributary/wire/reduction.hpp"

#include <optional>

namespace tributary::collective {

struct Notice {
  std::uint32_t piece = 0;          ///< modulo 2^32
  MissingRanks missing{};           ///< the group still waits for these
  std::optional<Failure> failure{}; ///< the group has ended
};

[[nodiscard]] wire::Payload payload_of(const Notice& notice);
/// The reduction word of every notice.
[[nodiscard]] wire::ReductionWord notice_word();
/// The notice in a frame of sequence 1022, if it is one. `root_rank` completes it.
[[nodiscard]] std::optional<Notice> notice_in(const wire::ReductionFrame& frame,
                                              std::uint32_t root_rank);

} // namespace tributary::collective
