#include "controlplane/multicast/lower_bound.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tributary::multicast {
namespace {

using Group = std::vector<SwitchId>;
/// A label for each switch; switches with the same label belong together.
using Labels = std::vector<std::uint32_t>;
constexpr std::uint32_t none = RoutingView::none;

std::uint64_t divided_up(std::uint64_t dividend, std::uint64_t divisor) {
  return divisor == 0 ? 0 : (dividend + divisor - 1) / divisor;
}

/// Number of different labels of a group's switches; those without a label count one each.
std::uint64_t label_count(const Group& group, const Labels& labels,
                          std::vector<std::uint32_t>& found) {
  found.clear();
  std::uint64_t unlabelled = 0;
  for (const SwitchId s : group) {
    if (labels[s.value] == none) {
      ++unlabelled;
    } else {
      found.push_back(labels[s.value]);
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found.size() + unlabelled;
}

/// The cut of every label: the groups that cross it, by its usable links.
std::uint64_t cut_bound(const RoutingView& view, const Labels& labels,
                        std::span<const Group> groups) {
  std::map<std::uint32_t, std::uint64_t> links;
  for (std::uint32_t c = 0; c < view.link_count(); ++c) {
    const auto [a, b] = view.ends(LinkId{c});
    if (view.usable(LinkId{c}) && labels[a.value] != labels[b.value]) {
      ++links[labels[a.value]];
      ++links[labels[b.value]];
    }
  }
  std::map<std::uint32_t, std::uint64_t> crossing;
  std::vector<std::uint32_t> found;
  for (const Group& group : groups) {
    if (label_count(group, labels, found) > 1) {
      for (const std::uint32_t label : found) {
        ++crossing[label];
      }
    }
  }
  std::uint64_t bound = 0;
  for (const auto& [label, count] : crossing) {
    bound = std::max(bound, divided_up(count, links[label]));
  }
  return bound;
}

Labels each_switch_alone(const RoutingView& view) {
  Labels labels(view.switch_count());
  for (std::uint32_t s = 0; s < labels.size(); ++s) {
    labels[s] = s;
  }
  return labels;
}

/// The parts that usable links connect using only switches below `level`; `none` for others.
Labels parts_below(const RoutingView& view, std::uint32_t level) {
  Labels labels(view.switch_count(), none);
  std::vector<SwitchId> queue;
  for (std::uint32_t first = 0; first < labels.size(); ++first) {
    if (labels[first] != none || view.level(SwitchId{first}) >= level) {
      continue;
    }
    labels[first] = first;
    queue.assign(1, SwitchId{first});
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const Arc& arc : view.arcs(queue[next])) {
        if (labels[arc.to.value] == none && view.level(arc.to) < level) {
          labels[arc.to.value] = first;
          queue.push_back(arc.to);
        }
      }
    }
  }
  return labels;
}

/// For each group its minimum number of links of a class, and the size of the class.
struct LinkClass {
  std::uint64_t links = 0;
  std::vector<std::uint64_t> needs;

  [[nodiscard]] std::uint64_t bound() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t need : needs) {
      sum += need;
    }
    return divided_up(sum, links);
  }
};

/// Links from below `level` to it; a group in several parts below leaves each of them.
LinkClass between_levels(const RoutingView& view, std::uint32_t level, const Labels& below,
                         std::span<const Group> groups) {
  LinkClass made;
  for (std::uint32_t c = 0; c < view.link_count(); ++c) {
    const auto [a, b] = view.ends(LinkId{c});
    made.links += view.usable(LinkId{c}) && std::max(view.level(a), view.level(b)) == level ? 1 : 0;
  }
  std::vector<std::uint32_t> found;
  for (const Group& group : groups) {
    const std::uint64_t parts = label_count(group, below, found);
    made.needs.push_back(parts > 1 ? parts : 0);
  }
  return made;
}

LinkClass between_regions(const RoutingView& view, const Labels& regions,
                          std::span<const Group> groups) {
  LinkClass made;
  for (std::uint32_t c = 0; c < view.link_count(); ++c) {
    const auto [a, b] = view.ends(LinkId{c});
    made.links += view.usable(LinkId{c}) && regions[a.value] != regions[b.value] ? 1 : 0;
  }
  std::vector<std::uint32_t> found;
  for (const Group& group : groups) {
    made.needs.push_back(label_count(group, regions, found) - 1);
  }
  return made;
}

/// Links of a ring needed by places on it: all but those of the largest gap.
std::uint64_t ring_span(std::vector<std::uint32_t>& places, std::uint32_t ring) {
  std::ranges::sort(places);
  std::uint32_t gap = places.front() + ring - places.back();
  for (std::size_t i = 1; i < places.size(); ++i) {
    gap = std::max(gap, places[i] - places[i - 1]);
  }
  return ring - gap;
}

/// A torus's links along dimension `d`, one class.
LinkClass along(const RoutingView& view, std::span<const std::uint32_t> shape, std::size_t d,
                std::span<const Group> groups) {
  std::uint32_t stride = 1;
  for (std::size_t later = d + 1; later < shape.size(); ++later) {
    stride *= shape[later];
  }
  const auto place = [&](SwitchId s) { return s.value / stride % shape[d]; };
  LinkClass made;
  for (std::uint32_t c = 0; c < view.link_count(); ++c) {
    const auto [a, b] = view.ends(LinkId{c});
    made.links += view.usable(LinkId{c}) && place(a) != place(b) ? 1 : 0;
  }
  std::vector<std::uint32_t> places;
  for (const Group& group : groups) {
    places.clear();
    for (const SwitchId s : group) {
      places.push_back(place(s));
    }
    made.needs.push_back(ring_span(places, shape[d]));
  }
  return made;
}

/// A lower bound for any tree over these switches, by their distances: half a spanning tree of
/// them, a little more for few.
std::uint64_t by_spanning_tree(const Group& group, Distances& distances) {
  std::vector<std::uint8_t> nearest(group.size(), Distances::unreachable);
  std::vector<bool> spanned(group.size());
  std::uint64_t length = 0;
  std::size_t added = 0;
  for (std::size_t step = 1; step < group.size(); ++step) {
    spanned[added] = true;
    const std::uint8_t* const row = distances.row(group[added]);
    std::size_t next = group.size();
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!spanned[i]) {
        nearest[i] = std::min(nearest[i], row[group[i].value]);
        if (next == group.size() || nearest[i] < nearest[next]) {
          next = i;
        }
      }
    }
    length += nearest[next];
    added = next;
  }
  const std::uint64_t k = group.size();
  return k < 2 ? 0 : divided_up(length * k, 2 * (k - 1));
}

} // namespace

std::uint32_t lower_bound(const topology::Model& model, Distances& distances,
                          std::span<const Group> all_groups) {
  const RoutingView& view = distances.view();
  std::vector<Group> groups;
  for (const Group& group : all_groups) {
    if (group.size() > 1 && view.connected(group)) {
      groups.push_back(group);
    }
  }

  std::uint64_t bound = cut_bound(view, each_switch_alone(view), groups);
  bound = std::max(bound, cut_bound(view, model.regions, groups));

  std::vector<LinkClass> apart; // classes without a common link
  if (view.is_clos()) {
    std::uint32_t levels = 0;
    for (std::uint32_t s = 0; s < view.switch_count(); ++s) {
      const std::uint32_t level = view.level(SwitchId{s});
      levels = level == none ? levels : std::max(levels, level);
    }
    for (std::uint32_t level = 1; level <= levels; ++level) {
      const Labels below = parts_below(view, level);
      bound = std::max(bound, cut_bound(view, below, groups));
      apart.push_back(between_levels(view, level, below, groups));
    }
  } else if (!model.torus_shape.empty()) {
    for (std::size_t d = 0; d < model.torus_shape.size(); ++d) {
      apart.push_back(along(view, model.torus_shape, d, groups));
    }
  } else {
    apart.push_back(between_regions(view, model.regions, groups));
  }

  LinkClass all{view.usable_link_count(), {}};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::uint64_t sum = 0;
    for (const LinkClass& one : apart) {
      sum += one.needs[g];
    }
    all.needs.push_back(std::max(
        {std::uint64_t{groups[g].size()} - 1, by_spanning_tree(groups[g], distances), sum}));
  }
  bound = std::max(bound, all.bound());
  for (const LinkClass& one : apart) {
    bound = std::max(bound, one.bound());
  }
  return static_cast<std::uint32_t>(bound);
}

} // namespace tributary::multicast
