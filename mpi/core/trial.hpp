// A trial: a contest whose rounds are calls that the program makes anyway. All ranks of a
// communicator make the same calls in the same order, so that each knows from its own count which
// way the next one goes (capitals: not timed):
//
//   short calls    L l l N n n   N n n L l l   L l l N n n    a block: three rounds
//   long calls     L l n                                      the first block: one round
//                  n l                                        the second one
//
// The first call after a change of ways is not timed: connections may have to be made, and ranks
// come out of the other way one after the other. Of a long call that matters little, and what is
// tried in vain costs much: only the library's very first one is left out, and one clear round
// decides (a margin of two). After a block the ranks combine their times, each call by itself, and
// feed the trial the result. It is over when its contest is decided.
#pragma once

#include "mpi/core/contest.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::mpi {

class Trial {
public:
  enum class Calls : std::uint8_t { brief, lengthy };
  /// `before`: where such calls have gone so far.
  Trial(Calls calls, Way before);

  /// Where the next call goes. Requires !block_is_over().
  [[nodiscard]] Way way() const { return block_[at_].way; }
  /// That call is over, and took so long at this rank.
  void took(double microseconds);

  [[nodiscard]] bool block_is_over() const { return at_ == block_.size(); }
  /// Times of the block at this rank; as many at all ranks.
  [[nodiscard]] std::span<const double> times() const { return times_; }
  /// Combined of all ranks, in place of those. Begins the next block unless the contest is decided.
  void agree(std::span<const double> combined);

  [[nodiscard]] const Contest& contest() const { return contest_; }

private:
  struct Step {
    Way way;
    bool is_timed;
  };
  void plan_block();
  void plan_half(Way way);

  Calls calls_;
  Contest contest_;
  std::vector<Step> block_;
  std::size_t at_ = 0; ///< steps that were made
  std::vector<double> times_;
};

} // namespace tributary::mpi
