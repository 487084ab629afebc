#include "bench/algorithms/published.hpp"

#include "bench/algorithms/fulb.hpp"
#include "bench/algorithms/minihop.hpp"
#include "bench/algorithms/sssp.hpp"
#include "controlplane/multicast/comparison/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace tributary::multicast::published {
namespace {

using comparison::Compared;
using comparison::Row;

template <RootRule rule, RootScan scan>
std::unique_ptr<Algorithm> minihop(Distances& distances, std::uint64_t) {
  return std::make_unique<Minihop>(distances, rule, scan);
}
template <RootRule rule, RootScan scan, SsspSearch search>
std::unique_ptr<Algorithm> sssp(Distances& distances, std::uint64_t) {
  return std::make_unique<Sssp>(distances, rule, scan, search);
}
template <RootRule rule, RootScan scan>
std::unique_ptr<Algorithm> fulb(Distances& distances, std::uint64_t) {
  return std::make_unique<Fulb>(distances, rule, scan);
}

using enum RootRule;
using RootScan::vectorised;
using enum SsspSearch;

constexpr std::array published_rows{
    Compared{"minihop", minihop<first, RootScan::published>},
    Compared{"minihop_new", minihop<least_rooted, vectorised>},
    Compared{"minihop_new_through", minihop<least_through, vectorised>},
    Compared{"sssp", sssp<first, vectorised, heap>},
    Compared{"sssp_new", sssp<least_rooted, RootScan::published, heap>},
    Compared{"sssp_new_through", sssp<least_through, vectorised, heap>},
    Compared{"sssp_new_layered", sssp<least_rooted, vectorised, layered>},
    Compared{"sssp_new_layered_through", sssp<least_through, vectorised, layered>},
    Compared{"fulb_rooted", fulb<least_rooted, RootScan::published>},
    Compared{"fulb_through", fulb<least_through, RootScan::published>},
    Compared{"fulb_rooted_simd", fulb<least_rooted, vectorised>},
};

const Row* find(std::span<const Row> block, std::string_view algorithm) {
  const auto found = std::ranges::find(block, algorithm, &Row::algorithm);
  return found == block.end() ? nullptr : &*found;
}

/// "12.3", or "-" where one of them was not measured.
template <typename Value> std::string ratio(const Row* above, const Row* below, Value value) {
  if (above == nullptr || below == nullptr || value(*below) <= 0) {
    return "-";
  }
  return fmt::format("{:.1f}", value(*above) / value(*below));
}

} // namespace

std::span<const Compared> all_rows() {
  static const std::vector<Compared> rows = [] {
    std::vector<Compared> all(published_rows.begin(), published_rows.end());
    std::ranges::copy(comparison::prism_rows(), std::back_inserter(all));
    return all;
  }();
  return rows;
}

std::vector<Compared> expand(std::string_view name) {
  std::vector<Compared> chosen;
  std::ranges::copy_if(all_rows(), std::back_inserter(chosen), [&](const Compared& one) {
    return name == "all" || name == one.name ||
           (name == "fulb" && (one.name == "fulb_rooted" || one.name == "fulb_through"));
  });
  return chosen;
}

std::string to_ratios(std::span<const Row> rows) {
  const auto efi = [](const Row& row) { return static_cast<double>(row.max_efi); };
  const auto time = [](const Row& row) { return row.seconds(); };
  constexpr auto* line =
      "{:<26} {:<15} |{:>7} {:>9} {:>9} {:>6} |{:>10} {:>6} |{:>6} {:>6} {:>9}\n";
  std::string text =
      fmt::format("{:<42} |{:^34} |{:^17} |{:^23}\n", "", "EFI, multiples of prism_repaired",
                  "time, of prism", "EFI, of the bound");
  text += fmt::format(line, "topology", "pattern", "minihop", "mini_new", "sssp_new", "fulb",
                      "sssp_new", "fulb", "fulb", "prism", "repaired");
  for (const auto block : comparison::blocks(rows)) {
    const Row* const prism = find(block, "prism");
    const Row* const repaired = find(block, "prism_repaired");
    // The better result of the two readings of a switch's load.
    const Row* fulb = find(block, "fulb_rooted");
    const Row* const through = find(block, "fulb_through");
    if (fulb == nullptr || (through != nullptr && through->max_efi < fulb->max_efi)) {
      fulb = through;
    }
    Row bound;
    bound.max_efi = block.front().lower_bound;
    text += fmt::format(line, block.front().topology + comparison::dead_links(block.front()),
                        block.front().pattern, ratio(find(block, "minihop"), repaired, efi),
                        ratio(find(block, "minihop_new"), repaired, efi),
                        ratio(find(block, "sssp_new"), repaired, efi), ratio(fulb, repaired, efi),
                        ratio(find(block, "sssp_new"), prism, time),
                        ratio(find(block, "fulb_rooted"), prism, time), ratio(fulb, &bound, efi),
                        ratio(prism, &bound, efi), ratio(repaired, &bound, efi));
  }
  return text;
}

} // namespace tributary::multicast::published
