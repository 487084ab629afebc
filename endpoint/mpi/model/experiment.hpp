// An experiment: a comparison between the way that calls of a kind and size go, the incumbent, and
// the other one, the challenger. All ranks of a communicator make the same calls in the same order,
// so that each knows from its own count which way the next one goes (i the incumbent, c the
// challenger; capitals: not timed):
//
//   short calls   iiiiiiii Ccc                          a visit: the probe,
//                 cccccccccccc ...                      and more, while that loses little
//                 IIIIiiiiiiii CCCCcccccccc             another visit, if it was close,
//                 cccccccccccc ...                      and more of it
//   long calls    i c                                   a round
//                 c i                                   the next one
//   at the start  IIIIiiiiiiii CCCCcccccccc             a round, or fewer calls where they are slow
//
// A way that has not been used for a while is slower at first: connections have to be made, windows
// opened, ranks leave the other way one after the other, and the kernel has moved them. With 16
// ranks and 64 KiB the first five calls of an MPI library took up to twice as long as all others,
// and where ranks are not bound to processors the first fifty. So a visit compares runs of calls,
// by their medians. It begins with a short run, which decides only for a challenger that is faster
// though it is cold, and against one that is slower by more than coldness explains. Otherwise it
// continues immediately, as long as all its calls together lose no more than `most_lost`: a
// challenger that is about as fast while it is cold costs nothing, and shows its speed when it is
// warm. The last dozen calls count.
//
// After a block (a part of a visit, or a round) the ranks combine their times, each call
// separately, and feed the experiment the result. It is over when its comparison is decided; until
// then `next_loss` is what its next block may cost the program, and the owner of the experiment may
// let it wait.
#pragma once

#include "endpoint/mpi/model/comparison.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::mpi {

class Experiment {
public:
  enum class Calls : std::uint8_t { brief, lengthy, at_start };

  /// Short calls: number of the challenger's calls in a probe, and in each block after it.
  static constexpr std::size_t probe_calls = 3;
  static constexpr std::size_t run_calls = 12;
  /// Number of blocks, at most, that follow the first in a visit.
  static constexpr std::size_t most_runs = 12;
  /// What a visit may lose without a pause, in calls of the incumbent way.
  static constexpr double most_lost = 12;
  /// After-effect of a visit to the network, in calls of the library, whose connections are cold
  /// then. With 8 nodes and 64 KiB the fifty to a hundred following calls took 1.4 times as long.
  static constexpr double aftermath = 40;
  /// A challenger slower by this factor is slower by more than coldness explains.
  static constexpr double hopeless = 3;

  /// `before`: the way of such calls so far, the incumbent. `run`: calls each way in a round at the
  /// start.
  Experiment(Calls calls, Transport before, std::size_t run = run_calls);

  /// Where the next call goes. Requires !block_is_over().
  [[nodiscard]] Transport transport() const { return block_[at_].transport; }
  /// That call is over, and took this long at this rank.
  void took(double microseconds);

  [[nodiscard]] bool block_is_over() const { return at_ == block_.size(); }
  [[nodiscard]] std::size_t block_calls() const { return block_.size(); }
  /// Times of the block at this rank; as many at all ranks.
  [[nodiscard]] std::span<const double> times() const { return times_; }
  /// Takes the times combined over all ranks, in place of its own, and begins the next block.
  void agree(std::span<const double> combined);

  [[nodiscard]] Transport challenger() const { return challenger_; }
  /// Number of calls made so far.
  [[nodiscard]] std::size_t calls() const { return calls_; }
  /// In the midst of a visit, which has to continue immediately: in a pause the challenger would
  /// cool down.
  [[nodiscard]] bool is_on_visit() const { return part_ == Part::run; }
  /// The loss of the next block if the challenger is as slow as in the last one, in calls of the
  /// incumbent way.
  [[nodiscard]] double next_loss() const;
  [[nodiscard]] const Comparison& comparison() const { return comparison_; }

private:
  enum class Part : std::uint8_t { probe, run, visit, single, start };
  struct Step {
    Transport transport;
    bool is_timed;
  };
  void plan(Transport transport, std::size_t untimed, std::size_t timed);
  void plan_block();
  /// What twelve calls of the challenger lose if they are as slow as in the last block.
  [[nodiscard]] double loss_of_run() const;

  Transport incumbent_;
  Transport challenger_;
  Part part_;
  std::size_t run_;
  Comparison comparison_;
  double incumbent_us_ = 0; ///< time of the incumbent in this visit
  double slower_ = 1;       ///< time of the challenger over the incumbent's, in the last block
  double lost_ = 0;         ///< loss of this visit, in calls of the incumbent
  std::size_t runs_ = 0;    ///< runs of this visit
  std::vector<Step> block_;
  std::size_t at_ = 0; ///< calls made in the block
  std::size_t calls_ = 0;
  std::vector<double> times_;
};

} // namespace tributary::mpi
