#include "tools/simulator/experiment/probe.hpp"

#include "tools/simulator/engine/engine.hpp"
#include "tools/simulator/experiment/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::simulator::experiment {

using engine::Decided;
using engine::Engine;
using traffic::Traffic;
namespace {

constexpr std::uint32_t size = 4;
/// Far enough apart that the fabric never has two packets.
constexpr std::uint64_t ticks_between = 100'000;
constexpr std::uint32_t most_packets = 64;

struct Probe {
  const char* name;
  std::uint32_t source; ///< leaves, and as there is one host on each, hosts
  std::uint32_t destination;
  std::uint32_t links; ///< length of the intended route, where several are taken
  bool unseen_fault;
  double published_ns;
};

constexpr std::uint32_t leaf(std::uint32_t row, std::uint32_t column) {
  return row * size + column;
}

ProbedLatency measure(const Prepared& prepared, const Probe& probe) {
  TrafficSpec spec;
  spec.pattern = Pattern::listed;
  for (std::uint32_t i = 0; i < most_packets; ++i) {
    spec.listed.push_back({1 + i * ticks_between, probe.source, probe.destination});
  }
  Traffic traffic(spec, prepared.places(), prepared.experiment().seed);
  Engine engine(prepared.fabric(), prepared.parameters(), prepared.tables().front(), prepared.up(),
                traffic, prepared.experiment().seed);
  if (probe.unseen_fault) {
    const std::uint32_t dead = leaf(2, 3);
    engine.kill_switch(dead);
    for (std::uint32_t port = 0; port < prepared.network().ports(dead); ++port) {
      engine.notice(*prepared.network().peer({dead, static_cast<forwarding_table::Port>(port)}));
    }
  }
  ProbedLatency result{probe.name, "", 0, 0, probe.published_ns};
  engine.watch([&](const Decided& decided) {
    if (decided.packet.links == 0) {
      result.route.clear();
    }
    result.route += prepared.network().name(decided.at);
    if (decided.decision.outcome == forwarding_table::Outcome::forward) {
      result.route += fmt::format(" -vc{}- ", decided.decision.lowest_vc);
    }
    result.links = decided.packet.links;
  });
  std::uint64_t recorded = 0;
  engine.start_measuring();
  for (std::uint32_t i = 0; i < most_packets; ++i) {
    const auto sum_before = engine.latencies().from_creation.mean() * static_cast<double>(recorded);
    engine.run(ticks_between);
    recorded = engine.latencies().from_creation.count();
    const auto sum = engine.latencies().from_creation.mean() * static_cast<double>(recorded);
    result.ns = (sum - sum_before) * prepared.experiment().tick_ns;
    if (result.links == probe.links) {
      break;
    }
  }
  return result;
}

} // namespace

std::vector<ProbedLatency> probe_latencies(const Experiment& experiment) {
  Experiment e = experiment;
  e.topology = fmt::format("kdft:{0}x{0}x1", size);
  e.planes = 1;
  e.algorithm = "vtftr";
  e.routes = {};
  e.faults = 0;
  e.dead = {parse_part("leaf:0,2"), parse_part("leaf:2,0")};
  e.later.clear();
  e.traffic.flits = 1;
  const Prepared prepared(e);
  std::vector<ProbedLatency> results;
  for (const Probe& probe :
       {Probe{"xy", leaf(1, 1), leaf(3, 3), 4, false, 237},
        Probe{"yx", leaf(0, 1), leaf(1, 2), 4, false, 237},
        Probe{"row, column, row", leaf(0, 0), leaf(2, 2), 6, false, 307},
        Probe{"misrouted on the spot", leaf(0, 0), leaf(2, 2), 8, true, 377}}) {
    results.push_back(measure(prepared, probe));
  }
  return results;
}

} // namespace tributary::simulator::experiment
