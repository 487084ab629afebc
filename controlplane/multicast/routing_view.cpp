#include "controlplane/multicast/routing_view.hpp"

#include <algorithm>

namespace tributary::multicast {
namespace {

/// Breadth first from all hosts' switches at once, over all cables.
std::vector<std::uint32_t> levels_of(const Graph& graph,
                                     std::span<const std::uint32_t> host_counts) {
  std::vector<std::uint32_t> levels(graph.switches().size(), RoutingView::none);
  std::vector<SwitchId> queue;
  queue.reserve(levels.size());
  for (std::uint32_t s = 0; s < levels.size(); ++s) {
    if (host_counts[s] != 0) {
      levels[s] = 0;
      queue.push_back(SwitchId{s});
    }
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchId s = queue[next];
    for (const topology::Hop& hop : graph.hops(s)) {
      if (levels[hop.to.value] == RoutingView::none) {
        levels[hop.to.value] = levels[s.value] + 1;
        queue.push_back(hop.to);
      }
    }
  }
  return levels;
}

bool joins_adjacent_levels(const topology::Cable& cable, std::span<const std::uint32_t> levels) {
  const std::uint32_t a = levels[cable.ends[0].at.value];
  const std::uint32_t b = levels[cable.ends[1].at.value];
  return a + 1 == b || b + 1 == a;
}

} // namespace

RoutingView::RoutingView(const Graph& graph)
    : first_arc_(graph.switches().size() + 1), host_counts_(graph.switches().size()),
      parts_(graph.switches().size(), none) {
  const std::size_t cables = graph.cables().size();
  ends_.reserve(cables);
  cable_usable_.reserve(cables);
  for (std::uint32_t c = 0; c < cables; ++c) {
    const topology::Cable& cable = graph[CableId{c}];
    ends_.push_back({cable.ends[0].at, cable.ends[1].at});
    cable_usable_.push_back(graph.usable(CableId{c}) ? 1 : 0);
  }
  for (const topology::Host& host : graph.hosts()) {
    ++host_counts_[host.at.at.value];
  }

  arcs_.reserve(2 * cables);
  std::vector<topology::Hop> by_port;
  for (std::uint32_t s = 0; s < switch_count(); ++s) {
    const auto hops = graph.hops(SwitchId{s});
    by_port.assign(hops.begin(), hops.end());
    std::ranges::sort(by_port, {}, &topology::Hop::port);
    for (const topology::Hop& hop : by_port) {
      if (usable(hop.cable)) {
        arcs_.push_back({hop.to, hop.cable});
      }
    }
    first_arc_[s + 1] = static_cast<std::uint32_t>(arcs_.size());
  }

  levels_ = levels_of(graph, host_counts_);
  leveled_ = std::ranges::all_of(graph.cables(), [&](const topology::Cable& cable) {
    return joins_adjacent_levels(cable, levels_);
  });

  std::vector<SwitchId> queue;
  for (std::uint32_t first = 0; first < switch_count(); ++first) {
    if (parts_[first] != none || !graph[SwitchId{first}].up) {
      continue;
    }
    parts_[first] = first;
    queue.assign(1, SwitchId{first});
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const Arc& arc : arcs(queue[next])) {
        if (parts_[arc.to.value] == none) {
          parts_[arc.to.value] = first;
          queue.push_back(arc.to);
        }
      }
    }
  }
}

bool RoutingView::connected(std::span<const SwitchId> switches) const {
  return std::ranges::all_of(
      switches, [&](SwitchId s) { return usable(s) && part(s) == part(switches.front()); });
}

} // namespace tributary::multicast
