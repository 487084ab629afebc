#include "controlplane/multicast/twins.hpp"

#include "controlplane/multicast/distances.hpp"
#include "controlplane/multicast/twins_steiner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tributary::multicast {

namespace {

std::vector<SwitchId> inner_switches(const RoutingView& view, const Tree& tree,
                                     std::span<const SwitchId> members) {
  std::vector<SwitchId> switches{tree.root_switch};
  for (const LinkId c : tree.links) {
    const auto ends = view.ends(c);
    switches.insert(switches.end(), ends.begin(), ends.end());
  }
  std::sort(switches.begin(), switches.end());
  switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
  std::vector<SwitchId> inner;
  std::set_difference(switches.begin(), switches.end(), members.begin(), members.end(),
                      std::back_inserter(inner));
  return inner;
}

std::vector<LinkId> ascending(std::vector<LinkId> links) {
  std::sort(links.begin(), links.end());
  return links;
}

} // namespace

Overlap overlap(const RoutingView& view, const Tree& a, const Tree& b,
                std::span<const SwitchId> members) {
  Overlap both;
  const auto links_a = ascending(a.links);
  const auto links_b = ascending(b.links);
  std::set_intersection(links_a.begin(), links_a.end(), links_b.begin(), links_b.end(),
                        std::back_inserter(both.links));
  const auto switches_a = inner_switches(view, a, members);
  const auto switches_b = inner_switches(view, b, members);
  std::set_intersection(switches_a.begin(), switches_a.end(), switches_b.begin(), switches_b.end(),
                        std::back_inserter(both.switches));
  return both;
}

TwinSearch::TwinSearch(const RoutingView& view)
    : view_(view), book_(view), grower_(view), link_out_(view.link_count(), 0),
      switch_out_(view.switch_count(), 0), distances_(view.switch_count()),
      eccentricities_(view.switch_count()) {}

Tree TwinSearch::find(Tree& first, std::span<const SwitchId> members, const Loads& loads) {
  Tree second = beside(first, members, loads);
  std::size_t shared = overlap(view_, first, second, members).size();
  // Alternately, each tree again: if two rounds change nothing, a third will not either.
  Tree still = second;
  Tree moving = first;
  for (int in_vain = 0; shared > 0 && in_vain < 2;) {
    moving = beside(still, members, loads);
    const std::size_t now = overlap(view_, still, moving, members).size();
    if (now < shared) {
      shared = now;
      first = still;
      second = moving;
      in_vain = 0;
    } else {
      ++in_vain;
    }
    std::swap(still, moving);
  }
  return second;
}

Tree TwinSearch::beside(const Tree& other, std::span<const SwitchId> members, const Loads& loads) {
  if (members.size() == 1) {
    return {members.front(), {}, 0};
  }
  book_.follow(loads, [](LinkId) {});
  take_out(other, members);
  auto tree = grow_in_the_rest(members);
  if (!tree) {
    tree = join_by_least_cost_paths(members, loads);
  }
  put_back(loads);
  return std::move(*tree);
}

void TwinSearch::take_out(const Tree& tree, std::span<const SwitchId> members) {
  links_out_ = tree.links;
  switches_out_ = inner_switches(view_, tree, members);
  for (const LinkId c : links_out_) {
    link_out_[c.value] = 1;
    book_.forbid(c);
  }
  for (const SwitchId s : switches_out_) {
    switch_out_[s.value] = 1;
  }
}

void TwinSearch::put_back(const Loads& loads) {
  for (const LinkId c : links_out_) {
    link_out_[c.value] = 0;
    book_.update(c, loads);
  }
  for (const SwitchId s : switches_out_) {
    switch_out_[s.value] = 0;
  }
}

std::optional<Tree> TwinSearch::grow_in_the_rest(std::span<const SwitchId> members) {
  /// Root switches tried among equally near ones; enough for every spine of most fabrics.
  constexpr std::size_t most_root_switches = 32;
  std::fill(eccentricities_.begin(), eccentricities_.end(), std::uint8_t{0});
  for (const SwitchId member : members) {
    search_distances(member);
    std::transform(distances_.begin(), distances_.end(), eccentricities_.begin(),
                   eccentricities_.begin(),
                   [](std::uint8_t a, std::uint8_t b) { return std::max(a, b); });
  }
  const std::uint8_t least = *std::min_element(eccentricities_.begin(), eccentricities_.end());
  if (least == Distances::unreachable) {
    return std::nullopt;
  }
  std::vector<SwitchId> root_switches;
  for (SwitchId s{0}; s.value < view_.switch_count(); ++s.value) {
    if (eccentricities_[s.value] == least) {
      root_switches.push_back(s);
    }
  }
  const std::size_t step = (root_switches.size() + most_root_switches - 1) / most_root_switches;
  grower_.begin(members, book_);
  std::optional<Tree> best;
  float limit = CostTable::unusable;
  for (std::size_t i = 0; i < root_switches.size(); i += step) {
    search_distances(root_switches[i]);
    if (grower_.grow(root_switches[i], distances_.data(), limit)) {
      limit = grower_.cost();
      best = grower_.tree();
    }
  }
  return best;
}

void TwinSearch::search_distances(SwitchId from) {
  std::fill(distances_.begin(), distances_.end(), Distances::unreachable);
  queue_.assign(1, from);
  distances_[from.value] = 0;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const SwitchId at = queue_[i];
    const auto next = static_cast<std::uint8_t>(distances_[at.value] + 1);
    if (next == Distances::unreachable) {
      return;
    }
    for (const Arc& arc : view_.arcs(at)) {
      if (distances_[arc.to.value] == Distances::unreachable && link_out_[arc.link.value] == 0 &&
          switch_out_[arc.to.value] == 0) {
        distances_[arc.to.value] = next;
        queue_.push_back(arc.to);
      }
    }
  }
}

Tree TwinSearch::join_by_least_cost_paths(std::span<const SwitchId> members, const Loads& loads) {
  // Less sharing has priority over a short path, and that over little load.
  constexpr std::uint64_t shared = std::uint64_t{1} << 40;
  constexpr std::uint64_t hop = std::uint64_t{1} << 16;
  return join_cheapest(view_, members, [&](LinkId over, SwitchId to) {
    return hop + std::min<std::uint64_t>(loads[over], hop - 1) +
           shared * (link_out_[over.value] + std::uint64_t{switch_out_[to.value]});
  });
}

} // namespace tributary::multicast
