#include "controlplane/multicast/comparison/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tributary::multicast::comparison {
namespace {

constexpr std::uint16_t nowhere = 0xFFFF;

} // namespace

std::optional<std::string> Checker::find_fault(std::span<const SwitchId> members, const Tree& tree,
                                               Height height) {
  const Graph& graph = *graph_;
  std::map<SwitchId, std::vector<SwitchId>> neighbours;
  neighbours[tree.root_switch];
  std::set<LinkId> links;
  for (const LinkId c : tree.links) {
    if (c.value >= graph.links().size()) {
      return fmt::format("no link {}", c.value);
    }
    if (!graph.usable(c)) {
      return fmt::format("the link {} is not usable", graph.describe(c));
    }
    if (!links.insert(c).second) {
      return fmt::format("the link {} occurs twice", graph.describe(c));
    }
    const SwitchId a = graph[c].ends[0].at;
    const SwitchId b = graph[c].ends[1].at;
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }

  std::map<SwitchId, std::uint32_t> depth{{tree.root_switch, 0}};
  std::vector<SwitchId> queue{tree.root_switch};
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchId at = queue[next];
    for (const SwitchId to : neighbours[at]) {
      if (depth.emplace(to, depth[at] + 1).second) {
        queue.push_back(to);
      }
    }
  }
  if (depth.size() != neighbours.size()) {
    return fmt::format("{} of its {} switches are not connected with its root switch",
                       neighbours.size() - depth.size(), neighbours.size());
  }
  if (links.size() + 1 != depth.size()) {
    return fmt::format("it has a loop: {} links on {} switches", links.size(), depth.size());
  }

  const std::set<SwitchId> member_set(members.begin(), members.end());
  std::uint32_t farthest = 0;
  for (const SwitchId m : member_set) {
    if (!depth.contains(m)) {
      return fmt::format("the member's switch {} is not in it", graph[m].name);
    }
    farthest = std::max(farthest, depth[m]);
  }
  for (const auto& [s, next_to] : neighbours) {
    if (next_to.size() == 1 && s != tree.root_switch && !member_set.contains(s)) {
      return fmt::format("it goes to {}, where it has no member", graph[s].name);
    }
  }
  if (farthest != tree.height) {
    return fmt::format("it says its height is {}, but it is {}", tree.height, farthest);
  }
  if (height == Height::least && farthest != least_height(members)) {
    return fmt::format("its height is {}, and {} is possible", farthest, least_height(members));
  }
  return std::nullopt;
}

bool Checker::connected(std::span<const SwitchId> members) {
  if (members.empty()) {
    return true;
  }
  const auto hops = hops_from(members.front());
  return std::ranges::all_of(members, [&](SwitchId m) { return hops[m.value] != nowhere; });
}

std::uint32_t Checker::least_height(std::span<const SwitchId> members) {
  std::vector<std::uint16_t> farthest(rows_.size());
  for (const SwitchId m : members) {
    const auto hops = hops_from(m);
    for (std::size_t s = 0; s < farthest.size(); ++s) {
      farthest[s] = std::max(farthest[s], hops[s]);
    }
  }
  return std::ranges::min(farthest);
}

CountedLoads Checker::count(std::span<const Tree> trees) const {
  std::map<LinkId, std::uint32_t> crossed;
  for (const Tree& tree : trees) {
    for (const LinkId c : tree.links) {
      ++crossed[c];
    }
  }
  CountedLoads counted;
  std::uint64_t total = 0;
  for (const auto& [link, efi] : crossed) {
    counted.max = std::max(counted.max, efi);
    total += efi;
  }
  std::uint64_t usable = 0;
  for (std::uint32_t c = 0; c < graph_->links().size(); ++c) {
    usable += graph_->usable(LinkId{c}) ? 1 : 0;
  }
  counted.mean = usable == 0 ? 0 : static_cast<double>(total) / static_cast<double>(usable);
  return counted;
}

std::span<const std::uint16_t> Checker::hops_from(SwitchId from) {
  std::vector<std::uint16_t>& hops = rows_[from.value];
  if (!hops.empty()) {
    return hops;
  }
  hops.assign(rows_.size(), nowhere);
  if (!(*graph_)[from].up) {
    return hops;
  }
  hops[from.value] = 0;
  std::vector<SwitchId> queue{from};
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchId at = queue[next];
    for (const topology::Hop& hop : graph_->hops(at)) {
      if (hops[hop.to.value] == nowhere && graph_->usable(hop.link)) {
        hops[hop.to.value] = static_cast<std::uint16_t>(hops[at.value] + 1);
        queue.push_back(hop.to);
      }
    }
  }
  return hops;
}

} // namespace tributary::multicast::comparison
