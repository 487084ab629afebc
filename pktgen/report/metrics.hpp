// The figures of a measurement that table, JSON, CSV and plot all show, each computed in one place.
#pragma once

#include "lib/statistics/histogram.hpp"
#include "lib/statistics/summary.hpp"
#include "pktgen/result/result.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::pktgen::report {

/// What a frame takes on the wire beside the bytes it is counted with: preamble 8, FCS 4, gap 12.
inline constexpr std::uint64_t wire_overhead_bytes = 24;

[[nodiscard]] inline std::uint64_t wire_bits(const measure::Volume& volume) {
  return 8 * (volume.bytes + wire_overhead_bytes * volume.frames);
}

/// A rate that every measurement has.
struct Rate {
  std::string_view key;   ///< in JSON and CSV
  std::string_view label; ///< for people
  std::string_view unit;
  double (*of)(const result::Measurement&);
};
[[nodiscard]] std::span<const Rate> rates();

/// A quantile that is always reported.
struct Quantile {
  std::string_view key;
  std::string_view label;
  double share;
};
inline constexpr std::array quantiles = {
    Quantile{"p50_ns", "P50", 0.5},
    Quantile{"p90_ns", "P90", 0.9},
    Quantile{"p99_ns", "P99", 0.99},
    Quantile{"p99_9_ns", "P99.9", 0.999},
};

/// From one value per repeat, selects the repeats that were not cut short, or all of them when all
/// were. Medians and spreads are computed over these.
[[nodiscard]] std::vector<double> of_whole_repeats(const result::Result& result,
                                                   std::span<const double> by_repeat);

template <typename F> std::vector<double> over_repeats(const result::Result& result, F&& figure) {
  std::vector<double> values;
  values.reserve(result.repeats.size());
  for (const result::Measurement& measurement : result.repeats) {
    values.push_back(static_cast<double>(figure(measurement)));
  }
  return of_whole_repeats(result, values);
}

/// The tallies of all repeats in one.
[[nodiscard]] measure::Tally total(const result::Result& result);

/// Names with counts, in the order of their first appearance.
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

/// Frames dropped before they could be received, over all repeats, by port of the generator.
[[nodiscard]] Counts generator_drops(const result::Result& result);
/// Over all repeats, by name of the switch's counter.
[[nodiscard]] Counts switch_drops(const result::Result& result);

/// Whether any repeat has this mark.
[[nodiscard]] bool generator_bound(const result::Result& result);

} // namespace tributary::pktgen::report
