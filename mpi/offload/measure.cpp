// What is faster, the network or the MPI library: measured when a communicator has got its group,
// at all its ranks together. Each kind at a few sizes, both ways in turns; what counts is the
// slowest rank's median. Sizes end where the network has clearly lost.
#include "mpi/offload/calls.hpp"
#include "mpi/offload/communicator.hpp"
#include "mpi/offload/report.hpp"
#include "mpi/offload/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <vector>

namespace tributary::mpi::offload {

namespace {

using Way = std::function<void(int count)>;

struct Contest {
  Kind kind;
  Way network; ///< of so many doubles
  Way library;
  std::uint64_t most_bytes;
};

double microseconds_of(const Way& way, int count) {
  const auto began = std::chrono::steady_clock::now();
  way(count);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began)
      .count();
}

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

double median(std::vector<double>& all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                   all.end());
  return all[all.size() / 2];
}

Measured measured(const Contest& contest, std::uint64_t bytes, MPI_Comm comm) {
  constexpr std::uint64_t long_one = std::uint64_t{256} << 10;
  const int turns = bytes >= long_one ? 3 : 9;
  const int count = static_cast<int>(bytes / sizeof(double));
  std::vector<double> network;
  std::vector<double> library;
  for (int turn = -1; turn < turns; ++turn) {
    // A barrier in front, so that no rank measures how late another one is.
    PMPI_Barrier(comm);
    const double ours = microseconds_of(contest.network, count);
    PMPI_Barrier(comm);
    const double theirs = microseconds_of(contest.library, count);
    if (turn >= 0) { // the first time warms up
      network.push_back(ours);
      library.push_back(theirs);
    }
  }
  const std::array<double, 2> mine{median(network), median(library)};
  std::array<double, 2> slowest{};
  PMPI_Allreduce(mine.data(), slowest.data(), 2, MPI_DOUBLE, MPI_MAX, comm);
  return {.bytes = bytes, .network_us = slowest[0], .library_us = slowest[1]};
}

} // namespace

void Communicator::measure() {
  constexpr std::uint64_t most = std::uint64_t{16} << 20;
  constexpr std::uint64_t medium = std::uint64_t{64} << 10;
  constexpr std::array<std::uint64_t, 6> sizes{8,   1024, 16 << 10, medium, std::uint64_t{1} << 20,
                                               most};
  constexpr double lost = 1.3; // times what the library takes: longer ones lose, too
  // Zeros that take no memory until they are used, which for the longest they mostly are not.
  const Zeros in(most);
  const Zeros out(most);
  const Plan sum = plan_reduction(Operator::sum, Element::float64, abilities_).plan;
  const auto reduction = [&](std::size_t elements, std::size_t take_from, std::size_t take) {
    team::Call call;
    call.plan = sum;
    call.elements = elements;
    call.in = reinterpret_cast<const std::byte*>(in.data());
    call.out = reinterpret_cast<std::byte*>(out.data());
    call.take_from = take_from;
    call.take = take;
    return call;
  };
  // Ranks that were late have to be waited for by both ways, and every call here is entered.
  bool goes_on = true;
  const auto through_network = [&](const team::Call& call) {
    goes_on = goes_on && enter();
    if (goes_on) {
      run(call);
    }
  };
  const auto elements = [](int count) { return static_cast<std::size_t>(count); };
  const auto block = [&](int count) { return std::max(1, count / size_); };
  const std::array<Contest, 5> contests{{
      {Kind::allreduce, [&](int n) { through_network(reduction(elements(n), 0, elements(n))); },
       [&](int n) { PMPI_Allreduce(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, comm_); }, most},
      {Kind::reduce,
       [&](int n) { through_network(reduction(elements(n), 0, rank_ == 0 ? elements(n) : 0)); },
       [&](int n) { PMPI_Reduce(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, 0, comm_); },
       medium},
      {Kind::bcast,
       [&](int n) {
         through_network(broadcast_call(*this, out.data(), elements(n) * sizeof(double), 0));
       },
       [&](int n) { PMPI_Bcast(out.data(), n, MPI_DOUBLE, 0, comm_); }, medium},
      {Kind::barrier, [&](int) { through_network(barrier_call()); },
       [&](int) { PMPI_Barrier(comm_); }, 8},
      {Kind::reduce_scatter_block,
       [&](int n) {
         const std::size_t mine = elements(block(n));
         through_network(reduction(mine * elements(size_), mine * elements(rank_), mine));
       },
       [&](int n) {
         PMPI_Reduce_scatter_block(in.data(), out.data(), block(n), MPI_DOUBLE, MPI_SUM, comm_);
       },
       medium},
  }};
  for (const Contest& contest : contests) {
    std::vector<Measured> points;
    for (const std::uint64_t bytes : sizes) {
      if (bytes > contest.most_bytes ||
          (!points.empty() && points.back().network_us > lost * points.back().library_us)) {
        break;
      }
      points.push_back(measured(contest, bytes, comm_));
    }
    if (contest.kind == Kind::barrier) {
      points.resize(1);
    }
    tuning_.set_measured(contest.kind, points);
  }
}

void Communicator::print_tuning() const {
  const Settings& settings = runtime_.settings();
  if (rank_ == 0 && (settings.print_tuning || settings.verbose > 0)) {
    std::string text = fmt::format("{}: {} ranks; what goes through the network\n{}", name(), size_,
                                   tuning_.text());
    text.pop_back();
    say(text);
  }
}

} // namespace tributary::mpi::offload
