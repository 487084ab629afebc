// A trial: a contest between the way that calls of a kind and size go, the incumbent, and the other
// one, the challenger, in calls that the program makes anyway. All ranks of a communicator make the
// same calls in the same order, so that each knows from its own count which way the next one goes
// (i the incumbent, c the challenger; capitals: not timed):
//
//   short calls   iiiiiiii Ccc                          the probe
//                 IIIIiiiiiiii CCCCcccccccc             a round, once more if it was close
//   long calls    i c                                   a round
//                 c i                                   the next one, if it was close
//
// A way that has not been gone for a while is slower at first: connections have to be made, windows
// opened, and ranks come out of the other way one after the other. With 16 ranks and 64 KiB the
// first five calls of an MPI library took up to twice as long as all others. So a round compares
// runs of calls, begun by some that are not timed, without the quickest and the slowest of them.
// The probe spares the program most of that: three calls, that only decide for a challenger that is
// faster though it is cold, and against one that is slower by more than coldness explains.
//
// After a block (the probe, or a round) the ranks combine their times, each call by itself, and
// feed the trial the result. It is over when its contest is decided; until then `next_loss` says
// what its next block may cost the program, and whoever holds the trial may let it wait.
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

  /// Brief: how many calls of the challenger a probe, and a round have.
  static constexpr std::size_t probe_calls = 3;
  static constexpr std::size_t round_calls = 12;
  /// What a block of the network leaves behind, in calls of the library: its connections are cold
  /// then. With 8 nodes and 64 KiB the fifty to a hundred calls behind one took 1.4 times as long.
  static constexpr double aftermath = 40;
  /// Slower than by this factor is more than coldness explains.
  static constexpr double hopeless = 3;

  /// `before`: where such calls have gone so far, the incumbent.
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

  [[nodiscard]] Way challenger() const { return challenger_; }
  /// That were made so far.
  [[nodiscard]] std::size_t calls() const { return calls_before_ + at_; }
  /// What the next block loses if the challenger is as slow as it was in the last one, in calls of
  /// the incumbent way.
  [[nodiscard]] double next_loss() const;
  [[nodiscard]] const Contest& contest() const { return contest_; }

private:
  struct Step {
    Way way;
    bool is_timed;
  };
  void plan(Way way, std::size_t untimed, std::size_t timed);
  void plan_block();

  Calls length_;
  Way incumbent_;
  Way challenger_;
  Contest contest_;
  bool probes_;
  double slower_ = 1; ///< of the challenger, by the last block: its time over the incumbent's
  std::vector<Step> block_;
  std::size_t at_ = 0; ///< steps of it that were made
  std::size_t calls_before_ = 0;
  std::vector<double> times_;
};

} // namespace tributary::mpi
