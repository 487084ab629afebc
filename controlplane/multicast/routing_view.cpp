#include "controlplane/multicast/routing_view.hpp"

#include <algorithm>

namespace tributary::multicast {
namespace {

/// Breadth first from all hosts' switches at once, over all links.
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

bool joins_adjacent_levels(const topology::Link& link, std::span<const std::uint32_t> levels) {
  const std::uint32_t a = levels[link.ends[0].at.value];
  const std::uint32_t b = levels[link.ends[1].at.value];
  return a + 1 == b || b + 1 == a;
}

} // namespace

RoutingView::RoutingView(const Graph& graph)
    : first_arc_(graph.switches().size() + 1), host_counts_(graph.switches().size()),
      parts_(graph.switches().size(), none) {
  const std::size_t links = graph.links().size();
  ends_.reserve(links);
  link_usable_.reserve(links);
  for (std::uint32_t c = 0; c < links; ++c) {
    const topology::Link& link = graph[LinkId{c}];
    ends_.push_back({link.ends[0].at, link.ends[1].at});
    link_usable_.push_back(graph.usable(LinkId{c}) ? 1 : 0);
  }
  for (std::uint32_t s = 0; s < switch_count(); ++s) {
    host_counts_[s] = graph.host_count(SwitchId{s});
  }

  arcs_.reserve(2 * links);
  std::vector<topology::Hop> by_port;
  for (std::uint32_t s = 0; s < switch_count(); ++s) {
    const auto hops = graph.hops(SwitchId{s});
    by_port.assign(hops.begin(), hops.end());
    std::ranges::sort(by_port, {}, &topology::Hop::port);
    for (const topology::Hop& hop : by_port) {
      if (usable(hop.link)) {
        arcs_.push_back({hop.to, hop.link});
      }
    }
    first_arc_[s + 1] = static_cast<std::uint32_t>(arcs_.size());
  }

  levels_ = levels_of(graph, host_counts_);
  clos_ = std::ranges::all_of(graph.links(), [&](const topology::Link& link) {
    return joins_adjacent_levels(link, levels_);
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
