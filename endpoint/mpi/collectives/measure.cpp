// Compares the speed of the network and the MPI library when a communicator has got its group, at
// all its ranks together and within a budget of time, by an experiment for each of a few sizes
// (model/experiment.hpp). The very first calls are not timed.
//
// Only allreduces and barriers, which non-blocking calls need to know as well. Other kinds, other
// sizes and what the budget does not reach are measured in the program's own calls
// (model/choices.hpp): a row of broadcasts, in which no rank waits for another, would not be
// representative of one broadcast.
#include "endpoint/mpi/collectives/calls.hpp"
#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/collectives/timed_call.hpp"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace tributary::mpi::collectives {

namespace {

/// For all points of a communicator; documented in docs/guide/mpi.md.
constexpr double budget_us = 250'000;
/// A round has as many calls each way as fill this, but not so few that the cold ones dominate it.
constexpr double round_us = 7'500;
constexpr double least_calls = 4;
constexpr double least_long_calls = 2;
/// Both ways are warmed up for this time, or this number of calls: the network's first ten take up
/// to twice as long as all others, and the library may have to make connections.
constexpr double warm_up_us = 5'000;
constexpr std::size_t most_warm_up_calls = 56;
constexpr std::size_t network_calls = 12; ///< between two looks at the clock
constexpr std::size_t library_calls = 2;
/// From this size on the bytes dominate the time of a call.
constexpr std::uint64_t large = 8 << 10;

} // namespace

double Communicator::measure() {
  const std::vector<double> in(longest_at_start / sizeof(double));
  std::vector<double> out(in.size());
  const Plan sum = plan_reduction(Operator::sum, Element::float64, abilities_).plan;
  const auto call = [&](Kind kind, Transport transport, std::uint64_t bytes) {
    const std::size_t count = bytes / sizeof(double);
    if (transport == Transport::network) {
      // Both ways have to wait for late ranks, so every call here is entered.
      if (reason_ == Reason::none && enter()) {
        run_uncounted(kind == Kind::barrier ? barrier_call(kind)
                                            : reduction_call(sum, in.data(), out.data(), count));
      }
    } else if (kind == Kind::barrier) {
      PMPI_Barrier(comm_);
    } else {
      PMPI_Allreduce(in.data(), out.data(), static_cast<int>(count), MPI_DOUBLE, MPI_SUM, comm_);
    }
  };

  const auto began = Clock::now();
  double elapsed = 0; // of all ranks, as of their last agreement
  const auto agree = [&](std::span<const double> microseconds) {
    std::vector<double> times(microseconds.begin(), microseconds.end());
    times.push_back(microseconds_since(began));
    times = mean_of_all(times);
    elapsed = times.back();
    times.pop_back();
    return times;
  };
  std::size_t warm = 0;
  while (warm < most_warm_up_calls && elapsed < warm_up_us) {
    for (std::size_t i = 0; i < network_calls + library_calls; ++i, ++warm) {
      call(Kind::allreduce, i < network_calls ? Transport::network : Transport::library,
           sizeof(double));
    }
    agree({});
  }
  double call_us = elapsed / static_cast<double>(warm);

  // The most frequent operations are first, for the budget may not reach the end.
  constexpr std::uint64_t kib = 1024;
  std::uint64_t last_bytes = 0;
  for (const auto& [kind, bytes] :
       std::initializer_list<std::pair<Kind, std::uint64_t>>{{Kind::allreduce, 8},
                                                             {Kind::barrier, 0},
                                                             {Kind::allreduce, kib},
                                                             {Kind::allreduce, 8 * kib},
                                                             {Kind::allreduce, 64 * kib},
                                                             {Kind::allreduce, longest_at_start}}) {
    if (last_bytes >= large) {
      call_us *= static_cast<double>(bytes) / static_cast<double>(last_bytes);
    }
    last_bytes = bytes;
    const double calls_each =
        std::clamp(round_us / 2 / call_us, is_lengthy(bytes) ? least_long_calls : least_calls,
                   double{Experiment::run_calls});
    Experiment experiment(Experiment::Calls::at_start, Transport::library,
                          static_cast<std::size_t>(calls_each));
    const auto calls = static_cast<double>(experiment.block_calls());
    while (!experiment.comparison().is_decided() && elapsed + calls * call_us < budget_us) {
      const double before = elapsed;
      while (!experiment.block_is_over()) {
        const auto start = Clock::now();
        call(kind, experiment.transport(), bytes);
        experiment.took(microseconds_since(start));
      }
      experiment.agree(agree(experiment.times()));
      call_us = (elapsed - before) / calls;
    }
    if (experiment.comparison().rounds() > 0) {
      choices_.set(kind, bytes, experiment.comparison());
    }
  }
  return elapsed;
}

} // namespace tributary::mpi::collectives
