#include "tools/simulator/allreduce/paths.hpp"

#include "controlplane/unicast/general.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "dataplane/forwarding_table/decide.hpp"
#include "tributary/random.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace tributary::simulator::allreduce {
namespace {

using unicast::Network;

constexpr std::uint64_t stream_of_places = 1;
constexpr std::uint16_t unreached = 0xFFFF;

/// The same for both hosts of a flow at every switch, and spread evenly.
std::uint32_t hash_of(std::uint32_t from, std::uint32_t to) {
  std::uint64_t x = (std::uint64_t{from} << 32 | to) + 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return static_cast<std::uint32_t>((x ^ x >> 31) >> 32);
}

} // namespace

Paths::Paths(topology::Model model, Routes routes, std::uint8_t vcs)
    : model_(std::move(model)), network_(unicast::network_of(model_.graph)),
      up_(unicast::port_states(model_.graph, network_)), routes_(routes) {
  if (routes == Routes::planned) {
    tables_ = unicast::general_tables(network_, up_, unicast::endpoints_of(model_.graph), vcs);
  } else {
    measure_distances();
  }
}

void Paths::measure_distances() {
  distances_.resize(switches());
  for (const std::uint32_t target : unicast::endpoints_of(model_.graph)) {
    std::vector<std::uint16_t>& distance = distances_[target];
    distance.assign(switches(), unreached);
    distance[target] = 0;
    std::vector<std::uint32_t> found{target};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::uint32_t at = found[i];
      for (std::uint32_t port = 0; port < network_.ports(at); ++port) {
        const Network::Peer far = network_.peer({at, static_cast<forwarding_table::Port>(port)});
        if (far && distance[far->at] == unreached) {
          distance[far->at] = static_cast<std::uint16_t>(distance[at] + 1);
          found.push_back(far->at);
        }
      }
    }
  }
}

Network::End Paths::planned_step(Network::End at, std::uint32_t target, std::uint32_t hash,
                                 std::uint8_t& vc) const {
  const forwarding_table::Decision decision =
      forwarding_table::decide(tables_.switches[at.at], at.port, vc, target, up_.of(at.at), hash);
  if (decision.outcome != forwarding_table::Outcome::forward) {
    throw AllreduceError(fmt::format("no route from {} to {}: {}", network_.name(at.at),
                                     network_.name(target),
                                     forwarding_table::name(decision.outcome)));
  }
  vc = decision.lowest_vc;
  return {at.at, decision.port};
}

Network::End Paths::shortest_step(std::uint32_t at, std::uint32_t target,
                                  std::uint32_t& number) const {
  const std::vector<std::uint16_t>& distance = distances_[target];
  if (distance[at] == unreached) {
    throw AllreduceError(
        fmt::format("no path from {} to {}", network_.name(at), network_.name(target)));
  }
  std::vector<forwarding_table::Port> ports;
  for (std::uint32_t port = 0; port < network_.ports(at); ++port) {
    const Network::Peer far = network_.peer({at, static_cast<forwarding_table::Port>(port)});
    if (far && distance[far->at] + 1 == distance[at]) {
      ports.push_back(static_cast<forwarding_table::Port>(port));
    }
  }
  const auto count = static_cast<std::uint32_t>(ports.size());
  const forwarding_table::Port port = ports[number % count];
  number /= count;
  return {at, port};
}

Path Paths::between(topology::HostId from, topology::HostId to) const {
  const std::uint32_t target = model_.graph[to].at.at.value;
  Path path;
  path.links.push_back(from.value);
  Network::End at{model_.graph[from].at.at.value, forwarding_table::local_port};
  std::uint8_t vc = 0;
  std::uint32_t number = to.value;
  path.switches.push_back(at.at);
  while (at.at != target) {
    const std::uint32_t link = network_.link(
        routes_ == Routes::planned ? planned_step(at, target, hash_of(from.value, to.value), vc)
                                   : shortest_step(at.at, target, number));
    path.links.push_back(2 * hosts() + link);
    at = *network_.peer(link);
    path.switches.push_back(at.at);
  }
  path.links.push_back(hosts() + to.value);
  return path;
}

std::vector<topology::HostId> Paths::place(std::uint32_t ranks, Placement placement,
                                           std::uint64_t seed) const {
  if (ranks < 2 || ranks > hosts()) {
    throw AllreduceError(fmt::format("{} hosts: {} has {}, and an allreduce needs two", ranks,
                                     model_.name, hosts()));
  }
  std::vector<std::uint32_t> numbers(hosts());
  std::iota(numbers.begin(), numbers.end(), 0U);
  if (placement == Placement::scattered) {
    Random random = Random(seed).fork(stream_of_places);
    random.shuffle(numbers);
  }
  std::vector<topology::HostId> placed;
  placed.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    placed.emplace_back(numbers[rank]);
  }
  return placed;
}

} // namespace tributary::simulator::allreduce
