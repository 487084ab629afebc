#include "controlplane/multicast/routing_view.hpp"

#include <algorithm>

namespace tributary::multicast {

RoutingView::Wiring::Wiring(const Graph& graph) {
  ends.reserve(graph.links().size());
  for (const topology::Link& link : graph.links()) {
    ends.push_back({link.ends[0].at, link.ends[1].at});
  }
  arcs.reserve(2 * ends.size());
  first.assign(1, 0);
  std::vector<topology::Hop> by_port;
  for (std::uint32_t s = 0; s < graph.switches().size(); ++s) {
    const auto hops = graph.hops(SwitchId{s});
    by_port.assign(hops.begin(), hops.end());
    std::ranges::sort(by_port, {}, &topology::Hop::port);
    for (const topology::Hop& hop : by_port) {
      arcs.push_back({hop.to, hop.link});
    }
    first.push_back(static_cast<std::uint32_t>(arcs.size()));
  }
}

/// Breadth-first from all hosts' switches together, over all links.
RoutingView::Levels::Levels(const Wiring& wiring, std::span<const std::uint32_t> host_counts)
    : of(host_counts.size(), none) {
  std::vector<SwitchId> queue;
  queue.reserve(of.size());
  for (std::uint32_t s = 0; s < of.size(); ++s) {
    if (host_counts[s] != 0) {
      of[s] = 0;
      queue.push_back(SwitchId{s});
    }
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchId s = queue[next];
    for (std::uint32_t i = wiring.first[s.value]; i < wiring.first[s.value + 1]; ++i) {
      const SwitchId to = wiring.arcs[i].to;
      if (of[to.value] == none) {
        of[to.value] = of[s.value] + 1;
        queue.push_back(to);
      }
    }
  }
  clos = std::ranges::all_of(wiring.ends, [&](const std::array<SwitchId, 2>& ends) {
    const std::uint32_t a = of[ends[0].value];
    const std::uint32_t b = of[ends[1].value];
    return a + 1 == b || b + 1 == a;
  });
}

RoutingView::RoutingView(const Graph& graph, const RoutingView* before) {
  const std::size_t switches = graph.switches().size();
  host_counts_.reserve(switches);
  for (std::uint32_t s = 0; s < switches; ++s) {
    host_counts_.push_back(graph.host_count(SwitchId{s}));
  }
  const bool same_wiring = before != nullptr && before->switch_count() == switches &&
                           before->link_count() == graph.links().size();
  wiring_ = same_wiring ? before->wiring_ : std::make_shared<const Wiring>(graph);
  const auto both_or_none = [](std::uint32_t a, std::uint32_t b) { return (a == 0) == (b == 0); };
  levels_ = same_wiring && std::ranges::equal(host_counts_, before->host_counts_, both_or_none)
                ? before->levels_
                : std::make_shared<const Levels>(*wiring_, host_counts_);
  ends_ = wiring_->ends;
  level_of_ = levels_->of;
  find_usable(graph);
  find_parts(graph);
}

void RoutingView::find_usable(const Graph& graph) {
  std::vector<std::uint8_t> up;
  up.reserve(host_counts_.size());
  for (const topology::Switch& s : graph.switches()) {
    up.push_back(s.up ? 1 : 0);
  }
  link_usable_.reserve(ends_.size());
  std::size_t c = 0;
  for (const topology::Link& link : graph.links()) {
    const auto [a, b] = ends_[c++];
    link_usable_.push_back(link.up && up[a.value] != 0 && up[b.value] != 0 ? 1 : 0);
  }
  arcs_.reserve(wiring_->arcs.size());
  first_arc_.assign(1, 0);
  for (std::size_t s = 0; s < up.size(); ++s) {
    for (std::uint32_t i = wiring_->first[s]; i < wiring_->first[s + 1]; ++i) {
      if (usable(wiring_->arcs[i].link)) {
        arcs_.push_back(wiring_->arcs[i]);
      }
    }
    first_arc_.push_back(static_cast<std::uint32_t>(arcs_.size()));
  }
}

void RoutingView::find_parts(const Graph& graph) {
  parts_.assign(host_counts_.size(), none);
  std::vector<SwitchId> queue;
  queue.reserve(parts_.size());
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
