#include "bench/rdma/measure.hpp"

#include "bench/rdma/node_pair.hpp"
#include "bench/rdma/schemes/go_back_n.hpp"
#include "bench/rdma/schemes/paper.hpp"
#include "bench/rdma/schemes/receiver_counter.hpp"
#include "bench/rdma/schemes/sender_window.hpp"
#include "tributary/wire/rdma.hpp"

#include <algorithm>
#include <vector>

namespace tributary::rdma::simulation {
namespace {

template <typename S>
std::vector<Cost> run(const Line& line, const Transfer& transfer, std::uint32_t transfers,
                      std::uint64_t seed) {
  Random random(seed);
  std::vector<Cost> costs;
  for (std::uint32_t i = 0; i < transfers; ++i) {
    S scheme(transfer);
    costs.push_back(Exchange(line, transfer, wire::rdma_overhead_bytes, random).run(scheme));
  }
  return costs;
}

std::vector<Cost> costs_of(SchemeName scheme, const Line& line, const Transfer& transfer,
                           std::uint32_t transfers, std::uint64_t seed) {
  switch (scheme) {
  case SchemeName::ours: return run_nodes(line, transfer, transfers, seed);
  case SchemeName::paper: return run<Paper>(line, transfer, transfers, seed);
  case SchemeName::sender_window: return run<SenderWindow>(line, transfer, transfers, seed);
  case SchemeName::go_back_n: return run<GoBackN>(line, transfer, transfers, seed);
  case SchemeName::receiver_counter: break;
  }
  return run<ReceiverCounter>(line, transfer, transfers, seed);
}

} // namespace

Summary measure(SchemeName scheme, const Line& line, const Transfer& transfer,
                std::uint32_t transfers, std::uint64_t seed) {
  Summary summary;
  std::vector<double> times;
  double data = 0;
  double control = 0;
  for (const Cost& cost : costs_of(scheme, line, transfer, transfers, seed)) {
    if (!cost.finished) {
      ++summary.given_up;
      continue;
    }
    times.push_back(cost.us);
    summary.mean_us += cost.us;
    data += static_cast<double>(cost.data);
    control += static_cast<double>(cost.control);
  }
  if (times.empty()) {
    return summary;
  }
  const auto finished = static_cast<double>(times.size());
  std::ranges::sort(times);
  summary.mean_us /= finished;
  summary.p99_us = times[std::min(times.size() - 1, times.size() * 99 / 100)];
  summary.data_a_frame = data / finished / transfer.frames();
  summary.control_a_frame = control / finished / transfer.frames();
  return summary;
}

} // namespace tributary::rdma::simulation
