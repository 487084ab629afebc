#include "controlplane/multicast/clos.hpp"

#include <algorithm>
#include <numeric>

namespace tributary::multicast {

namespace {

/// The switches connected by the links added so far.
class Components {
public:
  explicit Components(std::uint32_t switches) : above_(switches) {
    std::iota(above_.begin(), above_.end(), 0U);
  }
  void join(SwitchId a, SwitchId b) {
    // The lowest number is the representative, so that components are in the order of their
    // switches.
    const std::uint32_t one = leader(a);
    const std::uint32_t other = leader(b);
    above_[std::max(one, other)] = std::min(one, other);
  }
  std::uint32_t leader(SwitchId s) {
    std::uint32_t at = s.value;
    while (above_[at] != at) {
      above_[at] = above_[above_[at]];
      at = above_[at];
    }
    return at;
  }

private:
  std::vector<std::uint32_t> above_;
};

/// The components of all links whose upper end is on `level`.
Components components_below(const RoutingView& view, std::uint32_t level) {
  Components components(view.switch_count());
  for (LinkId c{0}; c.value < view.link_count(); ++c.value) {
    const auto [a, b] = view.ends(c);
    if (view.level(a) != RoutingView::none && std::max(view.level(a), view.level(b)) == level) {
      components.join(a, b);
    }
  }
  return components;
}

} // namespace

bool ClosFabric::fits(const RoutingView& view) {
  if (!view.is_clos()) {
    return false;
  }
  for (SwitchId s{0}; s.value < view.switch_count(); ++s.value) {
    if (view.level(s) != none && view.level(s) > 2) {
      return false;
    }
  }
  return true;
}

ClosFabric::ClosFabric(const RoutingView& view)
    : pod_of_(view.switch_count(), none), number_(view.switch_count(), none) {
  find_pods(view);
  find_planes(view);
  place_links(view);
}

void ClosFabric::find_pods(const RoutingView& view) {
  Components components = components_below(view, 1);
  std::vector<std::uint32_t> pod_of_leader(view.switch_count(), none);
  std::uint32_t leaves = 0;
  for (SwitchId s{0}; s.value < view.switch_count(); ++s.value) {
    if (view.level(s) > 1) {
      continue;
    }
    std::uint32_t& pod = pod_of_leader[components.leader(s)];
    if (pod == none) {
      pod = static_cast<std::uint32_t>(pods_.size());
      pods_.emplace_back();
    }
    pod_of_[s.value] = pod;
    if (view.level(s) == 0) {
      number_[s.value] = leaves++;
      pods_[pod].leaves.push_back(s);
    } else {
      pods_[pod].aggregations.push_back(s);
    }
  }
}

void ClosFabric::find_planes(const RoutingView& view) {
  Components components = components_below(view, 2);
  std::vector<std::uint32_t> plane_of_leader(view.switch_count(), none);
  std::vector<std::uint32_t> plane_of(view.switch_count(), none);
  for (SwitchId s{0}; s.value < view.switch_count(); ++s.value) {
    if (view.level(s) == none || view.level(s) == 0) {
      continue;
    }
    std::uint32_t& plane = plane_of_leader[components.leader(s)];
    if (plane == none) {
      plane = static_cast<std::uint32_t>(planes_.size());
      planes_.emplace_back();
    }
    plane_of[s.value] = plane;
    if (view.level(s) == 2) {
      number_[s.value] = static_cast<std::uint32_t>(planes_[plane].size());
      planes_[plane].push_back(s);
    }
  }
  for (Pod& pod : pods_) {
    std::stable_sort(pod.aggregations.begin(), pod.aggregations.end(),
                     [&](SwitchId a, SwitchId b) { return plane_of[a.value] < plane_of[b.value]; });
    for (std::uint32_t column = 0; column < pod.aggregations.size(); ++column) {
      const SwitchId aggregation = pod.aggregations[column];
      number_[aggregation.value] = column;
      if (pod.runs.empty() || pod.runs.back().plane != plane_of[aggregation.value]) {
        pod.runs.push_back({plane_of[aggregation.value], column, column});
      }
      ++pod.runs.back().end_aggregation;
    }
    aggregation_columns_ = std::max(aggregation_columns_, row_length(pod.aggregations.size()));
  }
  for (const auto& cores : planes_) {
    core_columns_ = std::max(core_columns_, row_length(cores.size()));
  }
}

void ClosFabric::place_links(const RoutingView& view) {
  std::size_t leaves = 0;
  for (const Pod& pod : pods_) {
    leaves += pod.leaves.size();
  }
  first_core_cost_ = leaves * aggregation_columns_;
  const std::size_t places = first_core_cost_ + pods_.size() * aggregation_columns_ * core_columns_;
  constexpr LinkId no_link{none};
  // The last place is for links that lead to no host; it is never read.
  costs_.assign(places + 1, CostTable::unusable);
  cheapest_.assign(places + 1, no_link);
  place_of_.assign(view.link_count(), places);
  next_parallel_.resize(view.link_count());
  for (LinkId c{0}; c.value < view.link_count(); ++c.value) {
    next_parallel_[c.value] = c;
    auto [below, above] = view.ends(c);
    if (view.level(below) == none) {
      continue;
    }
    if (view.level(below) > view.level(above)) {
      std::swap(below, above);
    }
    const std::size_t place =
        view.level(below) == 0
            ? leaf_place(number(below), number(above))
            : aggregation_place(aggregation_row(pod_of(below), number(below)), number(above));
    place_of_[c.value] = place;
    LinkId& seen = cheapest_[place];
    if (seen == no_link) {
      seen = c;
    } else {
      std::swap(next_parallel_[c.value], next_parallel_[seen.value]);
    }
  }
}

void ClosFabric::update_costs(LinkId link, const LinkCosts& costs) {
  LinkId best = link;
  for (LinkId c = next_parallel_[link.value]; c != link; c = next_parallel_[c.value]) {
    if (costs[c] < costs[best]) {
      best = c;
    }
  }
  const std::size_t place = place_of_[link.value];
  costs_[place] = costs[best];
  cheapest_[place] = best;
}

} // namespace tributary::multicast
