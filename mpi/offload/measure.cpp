// What is faster, the network or the MPI library: measured when a communicator has got its group,
// at all its ranks together, within a budget of time. Both ways take turns, a few calls each; a
// turn's first call is not timed, for ranks come out of the other way one after the other, and
// connections may have to be made. What counts is the slowest rank's turn.
//
// Allreduces and barriers alone, which calls that do not block need to know as well. Other kinds,
// other sizes and what the budget does not reach are measured in the program's own calls
// (core/choices.hpp): a row of broadcasts, of which no rank waits for another, would say little of
// one broadcast.
#include "mpi/offload/calls.hpp"
#include "mpi/offload/communicator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::mpi::offload {

namespace {

using Clock = std::chrono::steady_clock;
using Calls = std::function<void(std::uint64_t bytes)>;

/// For all points of a communicator; docs/guide/mpi.md tells users.
constexpr double budget_us = 250'000;
/// A turn is as many calls as fill this, but not so few that the first ones, which are slower,
/// count for most of it. Of long ones one is enough.
constexpr double turn_us = 1'000;
constexpr int least_calls = 3;
constexpr int most_calls = 8;
constexpr std::uint64_t long_call = 512 << 10;
constexpr std::size_t rounds_at_once = 3;

struct Ways {
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

/// Microseconds of a call, of `calls` in a row after one that is not timed.
double turn(const Calls& way, std::uint64_t bytes, int calls) {
  way(bytes);
  const auto began = Clock::now();
  for (int i = 0; i < calls; ++i) {
    way(bytes);
  }
  return since(began) / calls;
}

/// One communicator's measurement; its ranks have the same budget left, for they agree on it.
class Measurement {
public:
  explicit Measurement(MPI_Comm comm) : comm_(comm), began_(Clock::now()) {}

  /// Null if the budget does not suffice for a fair contest.
  std::optional<Contest> measure(const Ways& ways, std::uint64_t bytes) {
    if (left() <= 0 || reckoned(bytes) > left()) {
      return std::nullopt;
    }
    // The first call of each way warms up, the second says how long it takes.
    std::vector<double> times{turn(ways.library, bytes, 1), turn(ways.network, bytes, 1)};
    agree(times);
    const double longest = std::max(times[0], times[1]);
    const int calls = std::clamp(static_cast<int>(turn_us / longest),
                                 bytes < long_call ? least_calls : 1, most_calls);
    last_bytes_ = bytes;
    last_us_ = 2 * (times[0] + times[1]);
    const double of_a_round = (times[0] + times[1]) * (calls + 1);
    Contest contest;
    while (!contest.is_decided() && of_a_round * rounds_at_once < left()) {
      times.clear();
      for (std::size_t round = 0; round < rounds_at_once; ++round) {
        const bool turned = round % 2 == 1;
        const double first = turn(turned ? ways.network : ways.library, bytes, calls);
        const double second = turn(turned ? ways.library : ways.network, bytes, calls);
        times.push_back(turned ? second : first);
        times.push_back(turned ? first : second);
      }
      agree(times);
      for (std::size_t at = 0; at < times.size(); at += 2) {
        contest.add({.network_us = times[at + 1], .library_us = times[at]});
      }
    }
    return contest.rounds() > 0 ? std::optional(std::move(contest)) : std::nullopt;
  }

  /// Microseconds since its beginning, as of the last agreement.
  [[nodiscard]] double elapsed() const { return elapsed_; }

private:
  [[nodiscard]] double left() const { return budget_us - elapsed_; }
  /// What two calls each way will take, of sizes at which bytes are what takes time.
  [[nodiscard]] double reckoned(std::uint64_t bytes) const {
    constexpr std::uint64_t large = 8 << 10;
    return last_bytes_ < large
               ? 0
               : last_us_ * static_cast<double>(bytes) / static_cast<double>(last_bytes_);
  }

  /// The slowest rank's.
  void agree(std::vector<double>& times) {
    times.push_back(since(began_));
    std::vector<double> slowest(times.size());
    PMPI_Allreduce(times.data(), slowest.data(), static_cast<int>(times.size()), MPI_DOUBLE,
                   MPI_MAX, comm_);
    elapsed_ = slowest.back();
    slowest.pop_back();
    times = std::move(slowest);
  }

  MPI_Comm comm_;
  Clock::time_point began_;
  double elapsed_ = 0;
  std::uint64_t last_bytes_ = 0;
  double last_us_ = 0;
};

} // namespace

double Communicator::measure() {
  const Zeros in(longest_at_start);
  const Zeros out(longest_at_start);
  const Plan sum = plan_reduction(Operator::sum, Element::float64, abilities_).plan;
  // Ranks that were late have to be waited for by both ways, and every call here is entered.
  bool goes_on = true;
  const auto through_network = [&](const team::Call& call) {
    goes_on = goes_on && enter();
    if (goes_on) {
      run(call);
    }
  };
  const Ways allreduce{
      Kind::allreduce,
      [&](std::uint64_t bytes) {
        through_network(reduction_call(sum, in.data(), out.data(), bytes / sizeof(double)));
      },
      [&](std::uint64_t bytes) {
        PMPI_Allreduce(in.data(), out.data(), static_cast<int>(bytes / sizeof(double)), MPI_DOUBLE,
                       MPI_SUM, comm_);
      }};
  const Ways barrier{Kind::barrier, [&](std::uint64_t) { through_network(barrier_call()); },
                     [&](std::uint64_t) { PMPI_Barrier(comm_); }};

  // What programs use most comes first, for the budget may not reach the end.
  constexpr std::uint64_t kib = 1024;
  const std::array<std::pair<const Ways&, std::uint64_t>, 6> points{
      {{allreduce, 8},
       {barrier, 0},
       {allreduce, kib},
       {allreduce, 8 * kib},
       {allreduce, 64 * kib},
       {allreduce, longest_at_start}}};
  Measurement measurement(comm_);
  for (const auto& [ways, bytes] : points) {
    if (const auto contest = measurement.measure(ways, bytes)) {
      choices_.set(ways.kind, bytes, *contest);
    }
  }
  return measurement.elapsed();
}

} // namespace tributary::mpi::offload
