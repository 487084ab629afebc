// A trial: a contest whose rounds are calls that the program makes anyway. All ranks of a
// communicator make the same calls in the same order, so that each knows from its own count which
// way the next one goes:
//
//   short calls    L l l N n n | N n n L l l | L l l N n n       a block of rounds
//   long calls     L N | n l | l n                                (L, N: not timed)
//
// The first call after a change of ways is not timed: connections may have to be made, and ranks
// come out of the other way one after the other. Of a long call that matters little, so only the
// first of each way is left out. After a block the ranks combine their times, each call by itself,
// and feed the trial the result. It is over when its contest is decided.
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
  [[nodiscard]] Way way() const;
  /// That call is over, and took so long at this rank.
  void took(double microseconds);

  [[nodiscard]] bool block_is_over() const { return at_ == block_calls(); }
  /// Times of the block at this rank; as many at all ranks.
  [[nodiscard]] std::span<const double> times() const { return times_; }
  /// Combined of all ranks, in place of those. Begins the next block unless the contest is decided.
  void agree(std::span<const double> combined);

  [[nodiscard]] const Contest& contest() const { return contest_; }

private:
  [[nodiscard]] std::size_t run() const { return calls_ == Calls::brief ? 3 : 1; }
  [[nodiscard]] std::size_t block_calls() const { return rounds_ * 2 * run(); }
  [[nodiscard]] bool is_timed() const;

  Calls calls_;
  std::size_t rounds_; ///< of this block, with one that is not timed if the calls are lengthy
  std::size_t at_ = 0; ///< calls of this block so far
  bool first_block_ = true;
  std::vector<double> times_;
  Contest contest_;
};

} // namespace tributary::mpi
