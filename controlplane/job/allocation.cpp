#include "controlplane/job/allocation.hpp"

#include "tributary/wire/fabric_address.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>

namespace tributary::job {

namespace {

constexpr std::uint64_t nid_bits = 0xFFFFF;
constexpr std::uint64_t made_for_the_fabric = 0x020000000000;
constexpr std::uint32_t not_reached = std::numeric_limits<std::uint32_t>::max();

/// Six octets as a number.
std::optional<std::uint64_t> number_of(std::string_view mac) {
  std::uint64_t value = 0;
  for (int octet = 0; octet < 6; ++octet) {
    std::uint8_t byte = 0;
    if (mac.size() < 2) {
      return std::nullopt;
    }
    const auto [end, error] = std::from_chars(mac.data(), mac.data() + 2, byte, 16);
    if (error != std::errc() || end != mac.data() + 2) {
      return std::nullopt;
    }
    value = value << 8U | byte;
    mac.remove_prefix(2);
    if (octet < 5) {
      if (!mac.starts_with(':')) {
        return std::nullopt;
      }
      mac.remove_prefix(1);
    }
  }
  return mac.empty() ? std::optional(value) : std::nullopt;
}

/// By number of the switch.
using Neighbours = std::vector<std::vector<topology::SwitchId>>;

Neighbours neighbours_in(const topology::Graph& graph) {
  Neighbours neighbours(graph.switches().size());
  for (const topology::Link& link : graph.links()) {
    if (link.up && link.plugged) {
      neighbours[link.ends[0].at.value].push_back(link.ends[1].at);
      neighbours[link.ends[1].at.value].push_back(link.ends[0].at);
    }
  }
  return neighbours;
}

/// Links from a switch to each, by number.
std::vector<std::uint32_t> distances_from(topology::SwitchId from, const Neighbours& neighbours) {
  std::vector<std::uint32_t> distance(neighbours.size(), not_reached);
  distance[from.value] = 0;
  std::deque<topology::SwitchId> ahead{from};
  while (!ahead.empty()) {
    const topology::SwitchId at = ahead.front();
    ahead.pop_front();
    for (const topology::SwitchId next : neighbours[at.value]) {
      if (distance[next.value] == not_reached) {
        distance[next.value] = distance[at.value] + 1;
        ahead.push_back(next);
      }
    }
  }
  return distance;
}

} // namespace

std::optional<FabricAddress> fabric_address(std::string_view mac) {
  const auto value = number_of(mac);
  const Nid nid{static_cast<std::uint32_t>(value.value_or(0) & nid_bits)};
  // Those that end in 0 are made by machines that know nothing of the fabric.
  if (nid == Nid{0} || !wire::is_valid_nid(nid)) {
    return std::nullopt;
  }
  return FabricAddress{nid, (*value & ~nid_bits) == made_for_the_fabric};
}

const Interface* fabric_interface(const std::vector<Interface>& interfaces, std::string_view wanted,
                                  const std::function<bool(Nid)>& is_known) {
  const Interface* best = nullptr;
  bool best_is_known = false;
  for (const Interface& each : interfaces) {
    const auto address = fabric_address(each.address);
    if (!address || (!wanted.empty() && each.name != wanted)) {
      continue;
    }
    if (!wanted.empty()) {
      return &each;
    }
    const bool known = address->made_for_it && is_known(address->nid);
    if (address->made_for_it && (best == nullptr || (known && !best_is_known))) {
      best = &each;
      best_is_known = known;
    }
  }
  return best;
}

std::vector<double>
relative_route_times(const topology::Graph& graph,
                     const std::vector<std::optional<topology::SwitchId>>& nodes) {
  const Neighbours neighbours = neighbours_in(graph);
  std::map<topology::SwitchId, std::vector<std::uint32_t>> distances;
  std::vector<double> times;
  times.reserve(nodes.size() * nodes.size());
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    if (!nodes[from]) {
      return {};
    }
    auto known = distances.find(*nodes[from]);
    if (known == distances.end()) {
      known = distances.emplace(*nodes[from], distances_from(*nodes[from], neighbours)).first;
    }
    for (std::size_t to = 0; to < nodes.size(); ++to) {
      if (to == from) {
        times.push_back(0);
        continue;
      }
      const std::uint32_t links = nodes[to] ? known->second[nodes[to]->value] : not_reached;
      if (links == not_reached) {
        return {};
      }
      times.push_back(2.0 + links); // and a link at either end
    }
  }
  double least = 0;
  for (const double time : times) {
    least = time > 0 && (least == 0 || time < least) ? time : least;
  }
  for (double& time : times) {
    time = least > 0 ? time / least : 0;
  }
  return times;
}

} // namespace tributary::job
