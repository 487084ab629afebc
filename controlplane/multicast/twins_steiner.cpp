#include "controlplane/multicast/twins_steiner.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace tributary::multicast {

namespace {

constexpr std::uint64_t far = std::numeric_limits<std::uint64_t>::max();

std::vector<LinkId> cheapest_links(const RoutingView& view, std::span<const SwitchId> members,
                                   const StepCost& cost) {
  struct Reached {
    std::uint64_t cost = far;
    SwitchId from;
    LinkId by;
    bool waits = false;
  };
  using Candidate = std::pair<std::uint64_t, SwitchId>;
  std::vector<Reached> reached(view.switch_count());
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> open;
  std::vector<LinkId> links;
  for (const SwitchId member : members) {
    reached[member.value].waits = true;
  }
  const auto take_in = [&](SwitchId s) {
    reached[s.value].cost = 0;
    reached[s.value].waits = false;
    open.emplace(0, s);
  };
  take_in(members.front());
  for (std::size_t missing = members.size() - 1; missing > 0;) {
    const auto [paid, at] = open.top();
    open.pop();
    if (paid > reached[at.value].cost) {
      continue;
    }
    if (reached[at.value].waits) {
      SwitchId s = at;
      while (reached[s.value].cost > 0) {
        const SwitchId from = reached[s.value].from;
        links.push_back(reached[s.value].by);
        take_in(s);
        s = from;
      }
      --missing;
      continue;
    }
    for (const Arc& arc : view.arcs(at)) {
      Reached& next = reached[arc.to.value];
      const std::uint64_t sum = paid + cost(arc.link, arc.to);
      if (sum < next.cost) {
        next = {sum, at, arc.link, next.waits};
        open.emplace(sum, arc.to);
      }
    }
  }
  return links;
}

/// The tree alone, to find its centre.
class Within {
public:
  Within(const RoutingView& view, const std::vector<LinkId>& links) {
    for (const LinkId c : links) {
      const auto [a, b] = view.ends(c);
      neighbours_[a].push_back(b);
      neighbours_[b].push_back(a);
    }
  }
  /// The path to the farthest switch, which is a member: every end of the tree is one.
  [[nodiscard]] std::vector<SwitchId> longest_path(SwitchId from) const {
    std::vector<std::pair<SwitchId, std::size_t>> seen{{from, 0}}; // with the predecessor
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const auto [at, before] = seen[i];
      for (const SwitchId next : neighbours_.at(at)) {
        if (i == 0 || next != seen[before].first) {
          seen.emplace_back(next, i);
        }
      }
    }
    std::vector<SwitchId> path;
    for (std::size_t i = seen.size() - 1; i != 0; i = seen[i].second) {
      path.push_back(seen[i].first);
    }
    path.push_back(from);
    return path;
  }

private:
  std::map<SwitchId, std::vector<SwitchId>> neighbours_;
};

} // namespace

Tree join_cheapest(const RoutingView& view, std::span<const SwitchId> members,
                   const StepCost& cost) {
  Tree tree{members.front(), cheapest_links(view, members, cost), 0};
  if (!tree.links.empty()) {
    const Within within(view, tree.links);
    const SwitchId end = within.longest_path(members.front()).front();
    const std::vector<SwitchId> diameter = within.longest_path(end);
    tree.root_switch = diameter[diameter.size() / 2];
    tree.height = static_cast<std::uint32_t>(diameter.size() / 2);
  }
  return tree;
}

} // namespace tributary::multicast
