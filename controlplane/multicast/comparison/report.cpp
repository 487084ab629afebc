#include "controlplane/multicast/comparison/report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tributary::multicast::comparison {
namespace {

std::string milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return ms < 10 ? fmt::format("{:.2f}", ms)
                 : (ms < 100 ? fmt::format("{:.1f}", ms) : fmt::format("{:.0f}", ms));
}

std::string steps(const Row& row) {
  std::string text;
  for (const RepairStep& step : row.repair_steps) {
    text += fmt::format(" {}@{}ms", step.max_efi, milliseconds(step.seconds));
  }
  return text;
}

} // namespace

std::vector<std::span<const Row>> blocks(std::span<const Row> rows) {
  std::vector<std::span<const Row>> all;
  while (!rows.empty()) {
    const auto end = std::ranges::find_if(rows, [&](const Row& row) {
      return row.topology != rows.front().topology || row.pattern != rows.front().pattern ||
             row.dead_percent != rows.front().dead_percent;
    });
    const auto length = static_cast<std::size_t>(end - rows.begin());
    all.push_back(rows.first(length));
    rows = rows.subspan(length);
  }
  return all;
}

std::string dead_links(const Row& row) {
  return row.dead_percent > 0 ? fmt::format(" ({} % dead)", row.dead_percent) : "";
}

std::string to_json(std::span<const Row> rows) {
  boost::json::array all;
  for (const Row& row : rows) {
    boost::json::array reached;
    for (const RepairStep& step : row.repair_steps) {
      reached.push_back({{"max_efi", step.max_efi}, {"seconds", step.seconds}});
    }
    boost::json::object one{{"topology", row.topology},
                            {"pattern", row.pattern},
                            {"algorithm", row.algorithm},
                            {"groups", row.groups},
                            {"max_efi", row.max_efi},
                            {"mean_efi", row.mean_efi},
                            {"lower_bound", row.lower_bound},
                            {"root_seconds", row.root_seconds},
                            {"tree_seconds", row.tree_seconds},
                            {"repair_seconds", row.repair_seconds},
                            {"repair_steps", std::move(reached)},
                            {"dead_percent", row.dead_percent},
                            {"seed", row.seed},
                            {"valid", row.valid()}};
    if (!row.valid()) {
      one["fault"] = row.fault;
    }
    all.push_back(std::move(one));
  }
  return boost::json::serialize(all);
}

std::string to_table(std::span<const Row> rows) {
  std::string text;
  for (const auto block : blocks(rows)) {
    const Row& first = block.front();
    text += fmt::format("{}{} {}: {} groups, no trees below EFI {}\n", first.topology,
                        dead_links(first), first.pattern, first.groups, first.lower_bound);
    text += fmt::format("  {:<26}{:>8}{:>10}{:>12}{:>12}  trees\n", "algorithm", "max EFI",
                        "mean EFI", "root ms", "tree ms");
    for (const Row& row : block) {
      text +=
          fmt::format("  {:<26}{:>8}{:>10.3f}{:>12}{:>12}  {}{}\n", row.algorithm, row.max_efi,
                      row.mean_efi, milliseconds(row.root_seconds), milliseconds(row.tree_seconds),
                      row.valid() ? "right" : row.fault, steps(row));
    }
    text += '\n';
  }
  return text;
}

} // namespace tributary::multicast::comparison
