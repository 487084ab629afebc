// How many ids a root arms ahead, in addition to one that needs an arm because it has not been used
// yet or its arm is too old.
//
// A piece on such an id takes two round trips: one for the arm, and one for the contributions. With
// 128 ids that would be each of a group's first 128 pieces, and every piece of a program that makes
// few. But ids are used in turn, so the root knows which come next:
//
//   pieces since the last one that had    pieces a time of arms    arms ahead
//   to be armed
//   u                                     more                     2 u - 1, and most_ahead at most
//   u                                     no more                  u / 2
//
// A group that keeps injecting thus has ids armed for 1, 3, 7, 15 pieces; one that has become slow
// arms no more ids than it uses before the arms expire.
//
// Pure.
#pragma once

#include "endpoint/collective/piece.hpp"

#include <algorithm>
#include <cstdint>

namespace tributary::collective {

class ArmingAhead {
public:
  /// Frames sent in one burst: members take this many small frames without losing one.
  static constexpr PieceNumber most_ahead = 31;

  /// The id of this piece has to be armed. `arm_time_ns`: how long an arm is valid.
  PieceNumber next(PieceNumber piece, TimeNs now, std::uint64_t arm_time_ns) {
    const PieceNumber used = piece - last_;
    const bool is_quick = elapsed_ns(now, at_) < arm_time_ns;
    last_ = piece;
    at_ = now;
    if (used == 0) {
      return 0;
    }
    return std::min(is_quick ? 2 * used - 1 : used / 2, most_ahead);
  }

private:
  PieceNumber last_ = 0;
  TimeNs at_;
};

} // namespace tributary::collective
