#include "bench/rdma/node_pair.hpp"

#include "endpoint/rdma/node.hpp"
#include "tests/rdma/network.hpp"

#include <algorithm>
#include <cstddef>

namespace tributary::rdma::simulation {
namespace {

constexpr Nid source_nid{11};
constexpr Nid sink_nid{12};
constexpr Vni vni{1};
constexpr std::uint64_t longest_ns = ns_per_second;

rdma_policy::Policy policy_for(const Line& line, const Transfer& transfer) {
  rdma_policy::Policy policy;
  policy.window = transfer.window;
  policy.least_timeout_ns = transfer.timer_ns;
  policy.initial_timeout_ns = std::max<std::uint64_t>(50'000, transfer.timer_ns);
  policy.most_timeout_ns = 1'000'000;
  policy.initial_reordering_ns = std::max<std::uint64_t>(line.delay_ns, line.spread_ns);
  policy.sink_credit = 0; // one transfer has all resources
  return policy;
}

Options options_for(Nid nid, const Transfer& transfer, std::uint64_t seed) {
  Options options;
  options.address = nid;
  options.seed = seed;
  options.longest_frame = transfer.payload + wire::rdma_overhead_bytes;
  options.sinks = options.sources = options.works = options.peers = 16;
  options.regions = options.records = options.completions = 16;
  return options;
}

} // namespace

std::vector<Cost> run_nodes(const Line& line, const Transfer& transfer, std::uint32_t transfers,
                            std::uint64_t seed) {
  test::Network network({.delay_ns = line.delay_ns,
                         .jitter_ns = line.spread_ns,
                         .jitter_of_data_alone = line.spreads_only_data,
                         .faults = {.loss = line.loses_only_data ? 0 : line.loss},
                         .bits_per_second = line.bits_per_second},
                        seed);
  Random losses = Random(seed).fork(1);
  if (line.loses_only_data) {
    network.set_filter([&](test::Network::Bytes, const wire::RdmaHeader& header) {
      return header.kind != wire::RdmaKind::wr || !losses.chance(line.loss);
    });
  }
  Node source(options_for(source_nid, transfer, seed));
  Node sink(options_for(sink_nid, transfer, seed + 1));
  source.set_policy(policy_for(line, transfer));
  sink.set_policy(policy_for(line, transfer));
  network.add(source);
  network.add(sink);

  const std::vector<std::byte> from(transfer.bytes);
  std::vector<std::byte> to(transfer.bytes);
  const RegionKey key = *sink.register_region(to, {.peers_write = true}, vni);
  std::vector<Cost> costs;
  for (std::uint32_t i = 0; i < transfers; ++i) {
    source.poll(network.now());
    const TimeNs begun = network.now();
    const std::uint64_t data = source.counters().data_sent;
    const std::uint64_t control = source.counters().control_sent + sink.counters().control_sent;
    Cost cost;
    if (source.write({.peer = sink_nid, .vni = vni, .memory = from, .key = key}).error ==
        BeginError::none) {
      network.run_until(begun + longest_ns, [&] {
        const auto completion = source.take_completion();
        cost.finished |= completion && completion->done();
        return completion.has_value();
      });
    }
    cost.us = static_cast<double>(elapsed_ns(network.now(), begun)) / 1'000;
    network.run_for(100'000); // no frame of this transfer meets the next one
    cost.data = source.counters().data_sent - data;
    cost.control = source.counters().control_sent + sink.counters().control_sent - control;
    costs.push_back(cost);
  }
  return costs;
}

} // namespace tributary::rdma::simulation
