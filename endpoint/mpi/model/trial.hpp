// A trial: a contest between the way that calls of a kind and size go, the incumbent, and the other
// one, the challenger, in calls that the program makes anyway. All ranks of a communicator make the
// same calls in the same order, so that each knows from its own count which way the next one goes
// (i the incumbent, c the challenger; capitals: not timed):
//
//   short calls   iiiiiiii Ccc                          a visit: the probe,
//                 cccccccccccc ...                      and more, while that loses little
//                 IIIIiiiiiiii CCCCcccccccc             another visit, if it was close,
//                 cccccccccccc ...                      and more of it
//   long calls    i c                                   a round
//                 c i                                   the next one
//
// A way that has not been gone for a while is slower at first: connections have to be made, windows
// opened, ranks come out of the other way one after the other, and the kernel has moved them. With
// 16 ranks and 64 KiB the first five calls of an MPI library took up to twice as long as all
// others, and where ranks are not bound to processors fifty. So a visit compares runs of calls,
// without the quickest and the slowest of them. It begins with few, that only decide for a
// challenger that is faster though it is cold, and against one that is slower by more than coldness
// explains. What is in between goes on at once, as long as all its calls together lose no more than
// `patience`: one that is about as fast while it is cold costs nothing, and shows what it takes
// when it is warm. The last dozen calls count.
//
// After a block (a part of a visit, or a round) the ranks combine their times, each call by itself,
// and feed the trial the result. It is over when its contest is decided; until then `next_loss`
// says what its next block may cost the program, and whoever holds the trial may let it wait.
#pragma once

#include "endpoint/mpi/model/contest.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::mpi {

class Trial {
public:
  enum class Calls : std::uint8_t { brief, lengthy };

  /// Brief: how many calls of the challenger a probe has, and each block after it.
  static constexpr std::size_t probe_calls = 3;
  static constexpr std::size_t run_calls = 12;
  /// At most so many blocks in a visit follow the first.
  static constexpr std::size_t most_runs = 12;
  /// What a visit may lose without a pause, in calls of the incumbent way.
  static constexpr double patience = 12;
  /// What a visit to the network leaves behind, in calls of the library: its connections are cold
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
  /// In the midst of a visit, which is to go on at once: in a pause the challenger would cool down.
  [[nodiscard]] bool is_on_visit() const { return part_ == Part::run; }
  /// What the next block loses if the challenger is as slow as it was in the last one, in calls of
  /// the incumbent way.
  [[nodiscard]] double next_loss() const;
  [[nodiscard]] const Contest& contest() const { return contest_; }

private:
  enum class Part : std::uint8_t { probe, run, visit, round };
  struct Step {
    Way way;
    bool is_timed;
  };
  void plan(Way way, std::size_t untimed, std::size_t timed);
  void plan_block();
  void agree_on_round(std::span<const double> combined);
  void agree_on_part(std::span<const double> combined);
  [[nodiscard]] bool visit_goes_on() const;
  void add_round(double incumbent, double challenger);

  Way incumbent_;
  Way challenger_;
  Part part_;
  Contest contest_;
  double incumbent_us_ = 0; ///< of this visit
  double slower_ = 1;       ///< of the challenger, by the last block: its time over the incumbent's
  double lost_ = 0;         ///< by this visit, in calls of the incumbent
  std::size_t runs_ = 0;    ///< of this visit
  std::vector<Step> block_;
  std::size_t at_ = 0; ///< steps of it that were made
  std::size_t calls_before_ = 0;
  std::vector<double> times_;
};

} // namespace tributary::mpi
