// Compares the speed of the network and the MPI library: measured when a communicator has got its
// group, at all its ranks together, within a budget of time. Both ways take turns, a run of calls
// each, the first third of which is not timed, for ranks leave the other way one after the other,
// and connections may have to be made. The network's very first calls are not timed either. The
// mean of the ranks counts, as in the program's own calls.
//
// Only allreduces and barriers, which non-blocking calls need to know as well. Other kinds, other
// sizes and what the budget does not reach are measured in the program's own calls
// (model/choices.hpp): a row of broadcasts, in which no rank waits for another, would not be
// representative of one broadcast.
#include "endpoint/mpi/collectives/calls.hpp"
#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/model/middle.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::mpi::collectives {

namespace {

using Clock = std::chrono::steady_clock;
using Calls = std::function<void(std::uint64_t bytes)>;
/// Mean over all ranks, of each time separately.
using Mean = std::function<std::vector<double>(const std::vector<double>&)>;

/// For all points of a communicator; documented in docs/guide/mpi.md.
constexpr double budget_us = 250'000;
/// A run has as many calls as fill this, but not so few that the cold ones dominate it. Of long
/// calls one is enough.
constexpr double run_us = 5'000;
constexpr std::size_t least_calls = 4;
constexpr std::size_t most_calls = 12;
constexpr std::uint64_t long_call = 512 << 10;
constexpr std::size_t rounds_at_once = 3;
/// Rounds of one point, so that ways of similar speed leave some of the budget to the other points.
constexpr std::size_t most_rounds = 9;
/// The network is warmed up for this time, or this number of calls: the first ten take up to twice
/// as long as all others.
constexpr double warm_up_us = 5'000;
constexpr int most_warm_up_calls = 48;
constexpr int warm_up_calls = 12; ///< between two looks at the clock

struct Transports {
  Kind kind;
  Calls network;
  Calls library;
};

class Zeros {
public:
  explicit Zeros(std::size_t bytes) : at_(std::calloc(1, bytes)) {
    if (at_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  ~Zeros() { std::free(at_); }
  [[nodiscard]] double* data() const { return static_cast<double*>(at_); }

private:
  void* at_;
};

double since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

/// Makes `cold` calls that are not timed, then `timed` ones; appends the time of each.
void run(const Calls& transport, std::uint64_t bytes, std::size_t cold, std::size_t timed,
         std::vector<double>& times) {
  for (std::size_t i = 0; i < cold; ++i) {
    transport(bytes);
  }
  for (std::size_t i = 0; i < timed; ++i) {
    const auto began = Clock::now();
    transport(bytes);
    times.push_back(since(began));
  }
}

/// The measurement of one communicator; its ranks agree on the budget that is left.
class Measurement {
public:
  explicit Measurement(Mean mean_of_all) : mean_of_all_(std::move(mean_of_all)) {}

  void warm_up(const Calls& network) {
    std::vector<double> none;
    for (int calls = 0; calls < most_warm_up_calls && elapsed_ < warm_up_us;
         calls += warm_up_calls) {
      for (int i = 0; i < warm_up_calls; ++i) {
        network(sizeof(double));
      }
      agree(none);
    }
  }

  /// Null if the budget does not suffice for a fair comparison.
  std::optional<Comparison> measure(const Transports& transports, std::uint64_t bytes) {
    if (left() <= 0 || reckoned(bytes) > left()) {
      return std::nullopt;
    }
    const bool is_long = bytes >= long_call;
    const auto longest = reckon(transports, bytes);
    const std::size_t calls =
        is_long ? 2
                : std::clamp(static_cast<std::size_t>(run_us / longest), least_calls, most_calls);
    const std::size_t cold = is_long ? 1 : calls / 3;
    const std::size_t timed = calls - cold;
    Comparison comparison(Transport::library, {.most_rounds = most_rounds});
    for (std::size_t rounds = 0;
         !comparison.is_decided() && (rounds = rounds_that_fit(calls, comparison.rounds())) > 0;) {
      std::vector<double> times;
      for (std::size_t round = 0; round < rounds; ++round) {
        const bool swapped = round % 2 == 1;
        run(swapped ? transports.network : transports.library, bytes, cold, timed, times);
        run(swapped ? transports.library : transports.network, bytes, cold, timed, times);
      }
      agree(times);
      auto next = times.begin();
      const auto middle_of_next = [&] {
        const auto from = std::exchange(next, next + static_cast<std::ptrdiff_t>(timed));
        return middle({from, next});
      };
      for (std::size_t round = 0; round < rounds; ++round) {
        const double first = middle_of_next();
        const double second = middle_of_next();
        const bool swapped = round % 2 == 1;
        comparison.add(
            {.network_us = swapped ? first : second, .library_us = swapped ? second : first});
      }
    }
    return comparison.rounds() > 0 ? std::optional(std::move(comparison)) : std::nullopt;
  }

  /// Microseconds since its beginning, as of the last agreement.
  [[nodiscard]] double elapsed() const { return elapsed_; }

private:
  [[nodiscard]] double left() const { return budget_us - elapsed_; }
  /// Expected time of two calls each way, for sizes at which the bytes dominate.
  [[nodiscard]] double reckoned(std::uint64_t bytes) const {
    constexpr std::uint64_t large = 8 << 10;
    return last_bytes_ < large
               ? 0
               : last_us_ * static_cast<double>(bytes) / static_cast<double>(last_bytes_);
  }

  /// Number of rounds of `calls` calls each way. The rest of the budget is spent on a single one,
  /// if there would be none at all: it is better than an estimate from other sizes.
  [[nodiscard]] std::size_t rounds_that_fit(std::size_t calls, std::size_t made) const {
    const double round_us = last_us_ / 2 * static_cast<double>(calls);
    if (round_us * rounds_at_once < left()) {
      return rounds_at_once;
    }
    return made == 0 && round_us < left() ? 1 : 0;
  }

  /// Estimates a call of the slower way, from two each, the first of which may be cold.
  double reckon(const Transports& transports, std::uint64_t bytes) {
    std::vector<double> times;
    run(transports.library, bytes, 0, 2, times);
    run(transports.network, bytes, 0, 2, times);
    agree(times);
    const double library = std::min(times[0], times[1]);
    const double network = std::min(times[2], times[3]);
    last_bytes_ = bytes;
    last_us_ = 2 * (library + network);
    return std::max(library, network);
  }

  void agree(std::vector<double>& times) {
    times.push_back(since(began_));
    times = mean_of_all_(times);
    elapsed_ = times.back();
    times.pop_back();
  }

  Mean mean_of_all_;
  Clock::time_point began_ = Clock::now();
  double elapsed_ = 0;
  std::uint64_t last_bytes_ = 0;
  double last_us_ = 0;
};

} // namespace

double Communicator::measure() {
  const Zeros in(longest_at_start);
  const Zeros out(longest_at_start);
  const Plan sum = plan_reduction(Operator::sum, Element::float64, abilities_).plan;
  // Both ways have to wait for late ranks, and every call here is entered.
  bool continues = true;
  const auto through_network = [&](const intra_node::Call& call) {
    continues = continues && enter();
    if (continues) {
      run(call);
    }
  };
  const Transports allreduce{
      Kind::allreduce,
      [&](std::uint64_t bytes) {
        through_network(reduction_call(sum, in.data(), out.data(), bytes / sizeof(double)));
      },
      [&](std::uint64_t bytes) {
        PMPI_Allreduce(in.data(), out.data(), static_cast<int>(bytes / sizeof(double)), MPI_DOUBLE,
                       MPI_SUM, comm_);
      }};
  const Transports barrier{Kind::barrier,
                           [&](std::uint64_t) { through_network(barrier_call(Kind::barrier)); },
                           [&](std::uint64_t) { PMPI_Barrier(comm_); }};

  // The most frequent operations are first, for the budget may not reach the end.
  constexpr std::uint64_t kib = 1024;
  const std::array<std::pair<const Transports&, std::uint64_t>, 6> points{
      {{allreduce, 8},
       {barrier, 0},
       {allreduce, kib},
       {allreduce, 8 * kib},
       {allreduce, 64 * kib},
       {allreduce, longest_at_start}}};
  Measurement measurement([this](const auto& times) { return mean_of_all(times); });
  measurement.warm_up(allreduce.network);
  for (const auto& [transports, bytes] : points) {
    if (const auto comparison = measurement.measure(transports, bytes)) {
      choices_.set(transports.kind, bytes, *comparison);
    }
  }
  return measurement.elapsed();
}

} // namespace tributary::mpi::collectives
