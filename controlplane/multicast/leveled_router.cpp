#include "controlplane/multicast/leveled_router.hpp"

#include "controlplane/multicast/multiversion.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tributary::multicast {

namespace {

using Run = LeveledFabric::Run;

/// The sixteen from here on; the place must be one of a row's sixteens.
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

/// The smallest price of a row.
inline __attribute__((always_inline)) float least_of_row(const float* row, std::uint32_t columns) {
  Lanes low = lanes_at(row);
  for (std::uint32_t c = lanes; c < columns; c += lanes) {
    const Lanes next = lanes_at(row + c);
    low = next < low ? next : low;
  }
  return least_of(low);
}

/// What it costs to go round a missing cable of a row; infinite when that is not asked for.
inline __attribute__((always_inline)) float price_round(const float* row, std::uint32_t columns,
                                                        float way_round) {
  return way_round < PriceTable::unusable ? least_of_row(row, columns) + way_round : way_round;
}

/// `prices` = the sixteen from here on, `missing` for those that are infinite.
inline __attribute__((always_inline)) void read_prices(Lanes& prices, const float* place,
                                                       float missing) {
  const Lanes read = lanes_at(place);
  prices = read < PriceTable::unusable ? read : Lanes{} + missing;
}

/// sums[m] = sum over `rows` of prices[row][m].
TRIBUTARY_MULTIVERSION
void sum_rows(float* sums, const float* prices, std::uint32_t columns, const std::uint32_t* rows,
              std::size_t count, float way_round) {
  for (std::uint32_t m = 0; m < columns; m += lanes) {
    lanes_at(sums + m) = Lanes{};
  }
  for (std::size_t i = 0; i < count; ++i) {
    const float* const row = prices + std::size_t{rows[i]} * columns;
    const float missing = price_round(row, columns, way_round);
    for (std::uint32_t m = 0; m < columns; m += lanes) {
      Lanes price;
      read_prices(price, row + m, missing);
      lanes_at(sums + m) += price;
    }
  }
}

/// Adds to the totals of all tops of a pod's planes what the cheapest mid of the pod costs there.
/// `prices` are the rows of the pod's mids.
TRIBUTARY_MULTIVERSION
void add_cheapest_mids(float* totals, const float* mid_sums, const float* prices,
                       std::uint32_t columns, const Run* runs, std::size_t count, float way_round) {
  for (std::size_t r = 0; r < count; ++r) {
    const Run run = runs[r];
    float* const total = totals + std::size_t{run.plane} * columns;
    for (std::uint32_t t = 0; t < columns; t += lanes) {
      Lanes best = Lanes{} + PriceTable::unusable;
      for (std::uint32_t m = run.first_mid; m < run.end_mid; ++m) {
        const float* const row = prices + std::size_t{m} * columns;
        const float missing = price_round(row, columns, way_round);
        Lanes price;
        read_prices(price, row + t, missing);
        price += mid_sums[m];
        best = price < best ? price : best;
      }
      lanes_at(total + t) += best;
    }
  }
}

/// savings[m] = what leaves would save by mid m: sum over `rows` of paid - prices[row][m], where
/// that is positive.
TRIBUTARY_MULTIVERSION
void sum_savings(float* savings, const float* prices, std::uint32_t columns,
                 const std::uint32_t* rows, std::size_t count, const float* paid) {
  for (std::uint32_t m = 0; m < columns; m += lanes) {
    Lanes sum{};
    for (std::size_t i = 0; i < count; ++i) {
      const Lanes saved = paid[i] - lanes_at(prices + std::size_t{rows[i]} * columns + m);
      sum += saved > 0 ? saved : Lanes{};
    }
    lanes_at(savings + m) = sum;
  }
}

/// The smallest of `count` numbers, a multiple of `lanes` and not 0.
TRIBUTARY_MULTIVERSION
float smallest(const float* numbers, std::uint32_t count) { return least_of_row(numbers, count); }

} // namespace

LeveledRouter::LeveledRouter(const LeveledFabric& fabric)
    : fabric_(fabric), touched_of_pod_(fabric.pods().size(), 0),
      totals_(fabric.planes().size() * fabric.top_columns()),
      pods_of_plane_(fabric.planes().size()), savings_(fabric.mid_columns()),
      feeds_(fabric.mid_columns(), 0) {}

std::optional<SwitchId> LeveledRouter::choose(std::span<const SwitchId> leaves, float way_round) {
  sort_by_pod(leaves);
  sum_prices_to_mids(way_round);
  return touched_.size() == 1 ? choose_mid() : choose_top(way_round);
}

void LeveledRouter::sort_by_pod(std::span<const SwitchId> leaves) {
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

void LeveledRouter::sum_prices_to_mids(float way_round) {
  const std::uint32_t columns = fabric_.mid_columns();
  sums_.resize(touched_.size() * columns);
  float* sums = sums_.data();
  for (TouchedPod& touched : touched_) {
    const std::uint32_t* const rows = rows_.data() + touched.first_row;
    const std::size_t count = touched.end_row - touched.first_row;
    if (count == 1 && way_round == PriceTable::unusable) {
      touched.mid_sums = fabric_.leaf_prices(*rows);
      continue;
    }
    sum_rows(sums, fabric_.leaf_prices(0), columns, rows, count, way_round);
    touched.mid_sums = sums;
    sums += columns;
  }
}

std::optional<SwitchId> LeveledRouter::choose_mid() {
  const auto& pod = fabric_.pods()[touched_.front().pod];
  const float* const sums = touched_.front().mid_sums;
  const float* const best = std::min_element(sums, sums + pod.mids.size());
  if (best == sums + pod.mids.size() || *best == PriceTable::unusable) {
    return std::nullopt;
  }
  center_column_ = static_cast<std::uint32_t>(best - sums);
  center_ = pod.mids[center_column_];
  return center_;
}

std::optional<SwitchId> LeveledRouter::choose_top(float way_round) {
  const std::uint32_t columns = fabric_.top_columns();
  std::fill(totals_.begin(), totals_.end(), 0.0F);
  std::fill(pods_of_plane_.begin(), pods_of_plane_.end(), 0U);
  for (const TouchedPod& touched : touched_) {
    const auto& runs = fabric_.pods()[touched.pod].runs;
    add_cheapest_mids(totals_.data(), touched.mid_sums,
                      fabric_.mid_prices(fabric_.mid_row(touched.pod, 0)), columns, runs.data(),
                      runs.size(), way_round);
    for (const Run& run : runs) {
      ++pods_of_plane_[run.plane];
    }
  }
  for (std::size_t plane = 0; plane < pods_of_plane_.size(); ++plane) {
    // No top is where a row is filled up, nor in a plane that some pod is not in.
    const bool common = pods_of_plane_[plane] == touched_.size();
    const auto first = totals_.begin() + static_cast<std::ptrdiff_t>(plane * columns);
    const std::size_t tops = common ? fabric_.planes()[plane].size() : 0;
    std::fill(first + static_cast<std::ptrdiff_t>(tops), first + columns, PriceTable::unusable);
  }
  const float best = smallest(totals_.data(), static_cast<std::uint32_t>(totals_.size()));
  if (best == PriceTable::unusable) {
    return std::nullopt;
  }
  const auto at =
      static_cast<std::uint32_t>(std::find(totals_.begin(), totals_.end(), best) - totals_.begin());
  center_plane_ = at / columns;
  center_column_ = at % columns;
  center_ = fabric_.planes()[center_plane_][center_column_];
  return center_;
}

std::optional<Tree> LeveledRouter::build() {
  Tree tree;
  tree.center = center_;
  if (touched_.size() == 1) {
    tree.height = 1;
    tree.cables.reserve(rows_.size());
    for (const std::uint32_t row : rows_) {
      if (fabric_.leaf_prices(row)[center_column_] == PriceTable::unusable) {
        return std::nullopt;
      }
      tree.cables.push_back(fabric_.leaf_cable(row, center_column_));
    }
    return tree;
  }
  tree.height = 2;
  tree.cables.reserve(rows_.size() + touched_.size() * 2);
  for (const TouchedPod& touched : touched_) {
    if (!feed(touched, tree)) {
      return std::nullopt;
    }
  }
  return tree;
}

bool LeveledRouter::feed(const TouchedPod& touched, Tree& tree) {
  const auto& pod = fabric_.pods()[touched.pod];
  const auto run = std::find_if(pod.runs.begin(), pod.runs.end(),
                                [&](const Run& r) { return r.plane == center_plane_; });
  open_feeders(touched, *run);
  if (std::find(paid_.begin(), paid_.end(), PriceTable::unusable) != paid_.end()) {
    return false;
  }
  for (std::size_t i = 0; i < paid_.size(); ++i) {
    tree.cables.push_back(fabric_.leaf_cable(rows_[touched.first_row + i], feeder_of_[i]));
    feeds_[feeder_of_[i]] = 1;
  }
  for (std::uint32_t m = run->first_mid; m < run->end_mid; ++m) {
    if (feeds_[m] != 0) {
      feeds_[m] = 0;
      tree.cables.push_back(fabric_.mid_cable(fabric_.mid_row(touched.pod, m), center_column_));
    }
  }
  return true;
}

void LeveledRouter::open_feeders(const TouchedPod& touched, const Run& run) {
  const std::size_t count = touched.end_row - touched.first_row;
  std::uint32_t best = run.first_mid;
  for (std::uint32_t m = run.first_mid + 1; m < run.end_mid; ++m) {
    if (touched.mid_sums[m] + to_center(touched, m) <
        touched.mid_sums[best] + to_center(touched, best)) {
      best = m;
    }
  }
  feeder_of_.assign(count, best);
  paid_.assign(count, PriceTable::unusable);
  if (to_center(touched, best) < PriceTable::unusable) {
    hang(touched, best);
  }
  // Leaves that the best one does not reach come first; then one leaf hangs best where it hangs,
  // but several may have more to save than a cable costs.
  for (auto next = rescuer(touched, run); next; next = rescuer(touched, run)) {
    hang(touched, *next);
  }
  if (count > 1 && run.end_mid - run.first_mid > 1) {
    for (auto next = saver(touched, run); next; next = saver(touched, run)) {
      hang(touched, *next);
    }
  }
}

float LeveledRouter::to_center(const TouchedPod& touched, std::uint32_t mid) const {
  return fabric_.mid_prices(fabric_.mid_row(touched.pod, mid))[center_column_];
}

void LeveledRouter::hang(const TouchedPod& touched, std::uint32_t mid) {
  for (std::size_t i = 0; i < paid_.size(); ++i) {
    const float price = fabric_.leaf_prices(rows_[touched.first_row + i])[mid];
    if (price < paid_[i]) {
      paid_[i] = price;
      feeder_of_[i] = mid;
    }
  }
}

std::optional<std::uint32_t> LeveledRouter::rescuer(const TouchedPod& touched,
                                                    const Run& run) const {
  if (std::find(paid_.begin(), paid_.end(), PriceTable::unusable) == paid_.end()) {
    return std::nullopt;
  }
  std::optional<std::uint32_t> best;
  std::pair<std::uint32_t, float> most{0, 0.0F}; // leaves that get a feeder; what they pay less
  for (std::uint32_t m = run.first_mid; m < run.end_mid; ++m) {
    std::pair<std::uint32_t, float> gain{0, -to_center(touched, m)};
    for (std::size_t i = 0; i < paid_.size(); ++i) {
      const float price = fabric_.leaf_prices(rows_[touched.first_row + i])[m];
      if (paid_[i] == PriceTable::unusable && price < PriceTable::unusable) {
        ++gain.first;
        gain.second -= price;
      }
    }
    const bool reached = to_center(touched, m) < PriceTable::unusable;
    if (reached && gain.first > 0 && (!best || gain > most)) {
      most = gain;
      best = m;
    }
  }
  return best;
}

std::optional<std::uint32_t> LeveledRouter::saver(const TouchedPod& touched, const Run& run) {
  sum_savings(savings_.data(), fabric_.leaf_prices(0), fabric_.mid_columns(),
              rows_.data() + touched.first_row, paid_.size(), paid_.data());
  std::optional<std::uint32_t> best;
  float most = 0;
  for (std::uint32_t m = run.first_mid; m < run.end_mid; ++m) {
    if (const float gain = savings_[m] - to_center(touched, m); gain > most) {
      most = gain;
      best = m;
    }
  }
  return best;
}

} // namespace tributary::multicast
