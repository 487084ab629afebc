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

/// Links from a switch to each, by number; of those farther than the limit nothing is said.
std::vector<std::uint32_t> distances_from(topology::SwitchId from, const Neighbours& neighbours,
                                          std::uint32_t limit = not_reached) {
  std::vector<std::uint32_t> distance(neighbours.size(), not_reached);
  distance[from.value] = 0;
  std::deque<topology::SwitchId> ahead{from};
  while (!ahead.empty()) {
    const topology::SwitchId at = ahead.front();
    ahead.pop_front();
    if (distance[at.value] == limit) {
      break;
    }
    for (const topology::SwitchId next : neighbours[at.value]) {
      if (distance[next.value] == not_reached) {
        distance[next.value] = distance[at.value] + 1;
        ahead.push_back(next);
      }
    }
  }
  return distance;
}

/// In links: one at either end, and those between the switches.
double time_of(std::uint32_t links_between) { return 2.0 + links_between; }

/// Each switch, in this order, is in the class of the first middle within the radius, or becomes a
/// middle. Nothing where there would be more than `most`.
std::optional<std::vector<topology::SwitchId>>
middles_of(const std::vector<topology::SwitchId>& switches, const Neighbours& neighbours,
           std::uint32_t radius, std::uint32_t most, std::vector<std::uint32_t>& class_of) {
  class_of.assign(neighbours.size(), not_reached);
  std::vector<topology::SwitchId> middles;
  for (const topology::SwitchId at : switches) {
    if (class_of[at.value] != not_reached) {
      continue;
    }
    if (middles.size() == most) {
      return std::nullopt;
    }
    const std::vector<std::uint32_t> distance = distances_from(at, neighbours, radius);
    for (const topology::SwitchId other : switches) {
      if (class_of[other.value] == not_reached && distance[other.value] <= radius) {
        class_of[other.value] = static_cast<std::uint32_t>(middles.size());
      }
    }
    middles.push_back(at);
  }
  return middles;
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
      times.push_back(time_of(links));
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

RouteClasses route_classes(const topology::Graph& graph,
                           const std::vector<std::optional<topology::SwitchId>>& nodes,
                           std::uint32_t most) {
  std::vector<topology::SwitchId> switches;
  std::vector<std::uint32_t> nodes_at(graph.switches().size());
  for (const auto& at : nodes) {
    if (!at) {
      return {};
    }
    if (nodes_at[at->value]++ == 0) {
      switches.push_back(*at);
    }
  }
  if (switches.empty()) {
    return {};
  }
  const Neighbours neighbours = neighbours_in(graph);
  const std::vector<std::uint32_t> any = distances_from(switches.front(), neighbours);
  bool two_at_one = false;
  for (const topology::SwitchId at : switches) {
    if (any[at.value] == not_reached) {
      return {};
    }
    two_at_one |= nodes_at[at.value] > 1;
  }
  std::vector<std::uint32_t> class_of;
  std::uint32_t radius = switches.size() > most ? 1 : 0;
  auto middles = middles_of(switches, neighbours, radius, most, class_of);
  while (!middles) { // it ends: all are within reach of the first
    middles = middles_of(switches, neighbours, ++radius, most, class_of);
  }
  // The shortest way: within a switch, or between two of those that have nodes.
  std::uint32_t least = two_at_one ? 0 : not_reached;
  RouteClasses classes{.count = static_cast<std::uint32_t>(middles->size())};
  for (const topology::SwitchId from : *middles) {
    const std::vector<std::uint32_t> distance = distances_from(from, neighbours);
    for (const topology::SwitchId to : *middles) {
      classes.times.push_back(time_of(distance[to.value]));
    }
    for (const topology::SwitchId at : switches) {
      least = at == from ? least : std::min(least, distance[at.value]);
    }
  }
  const double unit = time_of(least == not_reached ? 0 : least);
  for (double& time : classes.times) {
    time /= unit;
  }
  classes.error = 2.0 * radius / unit;
  for (const auto& at : nodes) {
    classes.of_node.push_back(class_of[at->value]);
  }
  return classes;
}

} // namespace tributary::job
