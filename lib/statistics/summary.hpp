// Summarises repeated measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tributary::statistics {

struct Summary {
  double median = 0;
  double min = 0;
  double max = 0;
  /// (max - min) / median; 0 if the median is 0.
  double spread = 0;
};

/// All 0 for no values. The median of an even number of values is the mean of the two in the
/// middle.
[[nodiscard]] inline Summary summarise(std::span<const double> values) {
  if (values.empty()) {
    return {};
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  Summary summary;
  summary.median = sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.spread = summary.median != 0 ? (summary.max - summary.min) / summary.median : 0;
  return summary;
}

} // namespace tributary::statistics
