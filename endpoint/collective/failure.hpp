// Why a group ended before its members left it. A group that failed completes nothing any more; its
// members can only leave.
#pragma once

#include "endpoint/collective/missing_ranks.hpp"

#include <cstdint>

namespace tributary::collective {

/// One member's call: its number of elements, and whether it was leaving.
struct Call {
  std::uint32_t rank = 0;
  std::uint64_t elements = 0; ///< 0 for a BARRIER
  bool leaving = false;       ///< it was leaving the group instead
  friend bool operator==(const Call&, const Call&) = default;
};

struct Failure {
  enum class Reason : std::uint8_t {
    members_missing, ///< `missing` did not contribute within the member time-out
    unequal_counts, ///< `one` and `other` called with different counts, or are not at the same call
    ended,          ///< ended from outside; `missing` as far as it is known
    result_lost,    ///< `other` has a result that the root missed, and no switch keeps it any more
  };
  Reason reason = Reason::members_missing;
  MissingRanks missing{};
  Call one{}; ///< the root's
  Call other{};
  friend bool operator==(const Failure&, const Failure&) = default;
};

} // namespace tributary::collective
