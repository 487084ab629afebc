#include "controlplane/multicast/clos_router.hpp"

#include "controlplane/multicast/multiversion.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tributary::multicast {

namespace {

using Run = ClosFabric::Run;

/// The sixteen floats from here on; `place` must be a multiple of sixteen from the row's start.
inline __attribute__((always_inline)) Lanes& lanes_at(float* place) {
  return *reinterpret_cast<Lanes*>(place);
}
inline __attribute__((always_inline)) const Lanes& lanes_at(const float* place) {
  return *reinterpret_cast<const Lanes*>(place);
}

inline __attribute__((always_inline)) float least_of(const Lanes& low) {
  float least = low[0];
  for (std::uint32_t i = 1; i < lanes; ++i) {
    least = low[i] < least ? low[i] : least;
  }
  return least;
}

/// The smallest cost of a row.
inline __attribute__((always_inline)) float least_of_row(const float* row, std::uint32_t columns) {
  Lanes low = lanes_at(row);
  for (std::uint32_t c = lanes; c < columns; c += lanes) {
    const Lanes next = lanes_at(row + c);
    low = next < low ? next : low;
  }
  return least_of(low);
}

/// The cost of a detour around a missing link of a row; infinite when that is not requested.
inline __attribute__((always_inline)) float cost_round(const float* row, std::uint32_t columns,
                                                       float detour) {
  return detour < CostTable::unusable ? least_of_row(row, columns) + detour : detour;
}

/// `costs` = the sixteen costs from here on, with infinite ones replaced by `missing`.
inline __attribute__((always_inline)) void read_costs(Lanes& costs, const float* place,
                                                      float missing) {
  const Lanes read = lanes_at(place);
  costs = read < CostTable::unusable ? read : Lanes{} + missing;
}

/// sums[m] = sum over `rows` of costs[row][m].
TRIBUTARY_MULTIVERSION
void sum_rows(float* sums, const float* costs, std::uint32_t columns, const std::uint32_t* rows,
              std::size_t count, float detour) {
  for (std::uint32_t m = 0; m < columns; m += lanes) {
    lanes_at(sums + m) = Lanes{};
  }
  for (std::size_t i = 0; i < count; ++i) {
    const float* const row = costs + std::size_t{rows[i]} * columns;
    const float missing = cost_round(row, columns, detour);
    for (std::uint32_t m = 0; m < columns; m += lanes) {
      Lanes cost;
      read_costs(cost, row + m, missing);
      lanes_at(sums + m) += cost;
    }
  }
}

/// Adds to the totals of all core switches of a pod's planes the cost of the pod's cheapest
/// aggregation switch there. `costs` are the rows of the pod's aggregation switches.
TRIBUTARY_MULTIVERSION
void add_cheapest_aggregations(float* totals, const float* aggregation_sums, const float* costs,
                               std::uint32_t columns, const Run* runs, std::size_t count,
                               float detour) {
  for (std::size_t r = 0; r < count; ++r) {
    const Run run = runs[r];
    float* const total = totals + std::size_t{run.plane} * columns;
    for (std::uint32_t t = 0; t < columns; t += lanes) {
      Lanes best = Lanes{} + CostTable::unusable;
      for (std::uint32_t m = run.first_aggregation; m < run.end_aggregation; ++m) {
        const float* const row = costs + std::size_t{m} * columns;
        const float missing = cost_round(row, columns, detour);
        Lanes cost;
        read_costs(cost, row + t, missing);
        cost += aggregation_sums[m];
        best = cost < best ? cost : best;
      }
      lanes_at(total + t) += best;
    }
  }
}

/// savings[m] = what leaves would save with aggregation switch m: sum over `rows` of paid -
/// costs[row][m], where that is positive.
TRIBUTARY_MULTIVERSION
void sum_savings(float* savings, const float* costs, std::uint32_t columns,
                 const std::uint32_t* rows, std::size_t count, const float* paid) {
  for (std::uint32_t m = 0; m < columns; m += lanes) {
    Lanes sum{};
    for (std::size_t i = 0; i < count; ++i) {
      const Lanes saved = paid[i] - lanes_at(costs + std::size_t{rows[i]} * columns + m);
      sum += saved > 0 ? saved : Lanes{};
    }
    lanes_at(savings + m) = sum;
  }
}

/// The smallest of `count` numbers, a multiple of `lanes` and not 0.
TRIBUTARY_MULTIVERSION
float smallest(const float* numbers, std::uint32_t count) { return least_of_row(numbers, count); }

} // namespace

ClosRouter::ClosRouter(const ClosFabric& fabric)
    : fabric_(fabric), touched_of_pod_(fabric.pods().size(), 0),
      totals_(fabric.planes().size() * fabric.core_columns()),
      pods_of_plane_(fabric.planes().size()), savings_(fabric.aggregation_columns()),
      feeds_(fabric.aggregation_columns(), 0) {}

std::optional<SwitchId> ClosRouter::choose(std::span<const SwitchId> leaves, float detour) {
  sort_by_pod(leaves);
  sum_costs_to_aggregations(detour);
  return touched_.size() == 1 ? choose_aggregation() : choose_core(detour);
}

void ClosRouter::sort_by_pod(std::span<const SwitchId> leaves) {
  touched_.clear();
  const auto touched_of = [&](SwitchId leaf) -> TouchedPod& {
    const std::uint32_t pod = fabric_.pod_of(leaf);
    std::uint32_t& index = touched_of_pod_[pod];
    if (index >= touched_.size() || touched_[index].pod != pod) {
      index = static_cast<std::uint32_t>(touched_.size());
      touched_.push_back({pod, 0, 0, nullptr});
    }
    return touched_[index];
  };
  for (const SwitchId leaf : leaves) {
    ++touched_of(leaf).end_row;
  }
  std::uint32_t rows = 0;
  for (TouchedPod& touched : touched_) {
    const std::uint32_t count = touched.end_row;
    touched.first_row = touched.end_row = rows;
    rows += count;
  }
  rows_.resize(rows);
  for (const SwitchId leaf : leaves) {
    rows_[touched_of(leaf).end_row++] = fabric_.number(leaf);
  }
}

void ClosRouter::sum_costs_to_aggregations(float detour) {
  const std::uint32_t columns = fabric_.aggregation_columns();
  sums_.resize(touched_.size() * columns);
  float* sums = sums_.data();
  for (TouchedPod& touched : touched_) {
    const std::uint32_t* const rows = rows_.data() + touched.first_row;
    const std::size_t count = touched.end_row - touched.first_row;
    if (count == 1 && detour == CostTable::unusable) {
      touched.aggregation_sums = fabric_.leaf_costs(*rows);
      continue;
    }
    sum_rows(sums, fabric_.leaf_costs(0), columns, rows, count, detour);
    touched.aggregation_sums = sums;
    sums += columns;
  }
}

std::optional<SwitchId> ClosRouter::choose_aggregation() {
  const auto& pod = fabric_.pods()[touched_.front().pod];
  const float* const sums = touched_.front().aggregation_sums;
  const float* const best = std::min_element(sums, sums + pod.aggregations.size());
  if (best == sums + pod.aggregations.size() || *best == CostTable::unusable) {
    return std::nullopt;
  }
  root_switch_column_ = static_cast<std::uint32_t>(best - sums);
  root_switch_ = pod.aggregations[root_switch_column_];
  return root_switch_;
}

std::optional<SwitchId> ClosRouter::choose_core(float detour) {
  const std::uint32_t columns = fabric_.core_columns();
  std::fill(totals_.begin(), totals_.end(), 0.0F);
  std::fill(pods_of_plane_.begin(), pods_of_plane_.end(), 0U);
  for (const TouchedPod& touched : touched_) {
    const auto& runs = fabric_.pods()[touched.pod].runs;
    add_cheapest_aggregations(totals_.data(), touched.aggregation_sums,
                              fabric_.aggregation_costs(fabric_.aggregation_row(touched.pod, 0)),
                              columns, runs.data(), runs.size(), detour);
    for (const Run& run : runs) {
      ++pods_of_plane_[run.plane];
    }
  }
  for (std::size_t plane = 0; plane < pods_of_plane_.size(); ++plane) {
    // Padding of a row has no core switch, nor has a plane that some pod lacks.
    const bool common = pods_of_plane_[plane] == touched_.size();
    const auto first = totals_.begin() + static_cast<std::ptrdiff_t>(plane * columns);
    const std::size_t cores = common ? fabric_.planes()[plane].size() : 0;
    std::fill(first + static_cast<std::ptrdiff_t>(cores), first + columns, CostTable::unusable);
  }
  const float best = smallest(totals_.data(), static_cast<std::uint32_t>(totals_.size()));
  if (best == CostTable::unusable) {
    return std::nullopt;
  }
  const auto at =
      static_cast<std::uint32_t>(std::find(totals_.begin(), totals_.end(), best) - totals_.begin());
  root_switch_plane_ = at / columns;
  root_switch_column_ = at % columns;
  root_switch_ = fabric_.planes()[root_switch_plane_][root_switch_column_];
  return root_switch_;
}

std::optional<Tree> ClosRouter::build() {
  Tree tree;
  tree.root_switch = root_switch_;
  if (touched_.size() == 1) {
    tree.height = 1;
    tree.links.reserve(rows_.size());
    for (const std::uint32_t row : rows_) {
      if (fabric_.leaf_costs(row)[root_switch_column_] == CostTable::unusable) {
        return std::nullopt;
      }
      tree.links.push_back(fabric_.leaf_link(row, root_switch_column_));
    }
    return tree;
  }
  tree.height = 2;
  tree.links.reserve(rows_.size() + touched_.size() * 2);
  for (const TouchedPod& touched : touched_) {
    if (!feed(touched, tree)) {
      return std::nullopt;
    }
  }
  return tree;
}

bool ClosRouter::feed(const TouchedPod& touched, Tree& tree) {
  const auto& pod = fabric_.pods()[touched.pod];
  const auto run = std::find_if(pod.runs.begin(), pod.runs.end(),
                                [&](const Run& r) { return r.plane == root_switch_plane_; });
  open_feeders(touched, *run);
  if (std::find(paid_.begin(), paid_.end(), CostTable::unusable) != paid_.end()) {
    return false;
  }
  for (std::size_t i = 0; i < paid_.size(); ++i) {
    tree.links.push_back(fabric_.leaf_link(rows_[touched.first_row + i], feeder_of_[i]));
    feeds_[feeder_of_[i]] = 1;
  }
  for (std::uint32_t m = run->first_aggregation; m < run->end_aggregation; ++m) {
    if (feeds_[m] != 0) {
      feeds_[m] = 0;
      tree.links.push_back(
          fabric_.aggregation_link(fabric_.aggregation_row(touched.pod, m), root_switch_column_));
    }
  }
  return true;
}

void ClosRouter::open_feeders(const TouchedPod& touched, const Run& run) {
  const std::size_t count = touched.end_row - touched.first_row;
  std::uint32_t best = run.first_aggregation;
  for (std::uint32_t m = run.first_aggregation + 1; m < run.end_aggregation; ++m) {
    if (touched.aggregation_sums[m] + to_root_switch(touched, m) <
        touched.aggregation_sums[best] + to_root_switch(touched, best)) {
      best = m;
    }
  }
  feeder_of_.assign(count, best);
  paid_.assign(count, CostTable::unusable);
  if (to_root_switch(touched, best) < CostTable::unusable) {
    hang(touched, best);
  }
  // Leaves that the best one does not reach come first; after that a single leaf has its best
  // feeder, but several may save more than a link costs.
  for (auto next = rescuer(touched, run); next; next = rescuer(touched, run)) {
    hang(touched, *next);
  }
  if (count > 1 && run.end_aggregation - run.first_aggregation > 1) {
    for (auto next = saver(touched, run); next; next = saver(touched, run)) {
      hang(touched, *next);
    }
  }
}

float ClosRouter::to_root_switch(const TouchedPod& touched, std::uint32_t aggregation) const {
  return fabric_.aggregation_costs(
      fabric_.aggregation_row(touched.pod, aggregation))[root_switch_column_];
}

void ClosRouter::hang(const TouchedPod& touched, std::uint32_t aggregation) {
  for (std::size_t i = 0; i < paid_.size(); ++i) {
    const float cost = fabric_.leaf_costs(rows_[touched.first_row + i])[aggregation];
    if (cost < paid_[i]) {
      paid_[i] = cost;
      feeder_of_[i] = aggregation;
    }
  }
}

std::optional<std::uint32_t> ClosRouter::rescuer(const TouchedPod& touched, const Run& run) const {
  if (std::find(paid_.begin(), paid_.end(), CostTable::unusable) == paid_.end()) {
    return std::nullopt;
  }
  std::optional<std::uint32_t> best;
  std::pair<std::uint32_t, float> most{0, 0.0F}; // leaves that get a feeder; their savings
  for (std::uint32_t m = run.first_aggregation; m < run.end_aggregation; ++m) {
    std::pair<std::uint32_t, float> gain{0, -to_root_switch(touched, m)};
    for (std::size_t i = 0; i < paid_.size(); ++i) {
      const float cost = fabric_.leaf_costs(rows_[touched.first_row + i])[m];
      if (paid_[i] == CostTable::unusable && cost < CostTable::unusable) {
        ++gain.first;
        gain.second -= cost;
      }
    }
    const bool reached = to_root_switch(touched, m) < CostTable::unusable;
    if (reached && gain.first > 0 && (!best || gain > most)) {
      most = gain;
      best = m;
    }
  }
  return best;
}

std::optional<std::uint32_t> ClosRouter::saver(const TouchedPod& touched, const Run& run) {
  sum_savings(savings_.data(), fabric_.leaf_costs(0), fabric_.aggregation_columns(),
              rows_.data() + touched.first_row, paid_.size(), paid_.data());
  std::optional<std::uint32_t> best;
  float most = 0;
  for (std::uint32_t m = run.first_aggregation; m < run.end_aggregation; ++m) {
    if (const float gain = savings_[m] - to_root_switch(touched, m); gain > most) {
      most = gain;
      best = m;
    }
  }
  return best;
}

} // namespace tributary::multicast
