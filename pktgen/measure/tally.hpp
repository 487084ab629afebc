// What one traffic counted since its measurement began. The same shape for every kind of traffic,
// so that tables, JSON and plots are independent of the kind.
#pragma once

#include "lib/statistics/histogram.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::pktgen::measure {

/// Frames and their bytes, FCS not included.
struct Volume {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
  void add(std::uint32_t length) {
    ++frames;
    bytes += length;
  }
  Volume& operator+=(const Volume& other) {
    frames += other.frames;
    bytes += other.bytes;
    return *this;
  }
};

/// A count with a name, e.g. {"reductions", 1000}. Names are lower case with underscores, the keys
/// of the JSON result.
struct Figure {
  enum class Meaning : std::uint8_t {
    count, ///< sums over workers; neither good nor bad
    loss,  ///< frames that should have arrived and did not: what the search mode bounds
    fault, ///< something is wrong when it is not 0; the run ends with exit code 1
  };
  std::string name;
  std::uint64_t value = 0;
  Meaning meaning = Meaning::count;
};

/// Latencies of one kind of event, in nanoseconds from the intended start.
struct LatencySeries {
  std::string name; ///< e.g. "reduction_at_root"
  statistics::Histogram histogram;
};

struct Tally {
  Volume sent;     ///< by this traffic
  Volume received; ///< and recognised as this traffic's
  std::vector<Figure> figures;
  std::vector<LatencySeries> latencies;
  /// Descriptions of the first few errors.
  std::vector<std::string> remarks;

  static constexpr std::size_t most_remarks = 16;

  /// Adds another worker's, or another run's, by name.
  void merge(const Tally& other);
  /// 0 when no figure has this name.
  [[nodiscard]] std::uint64_t figure(std::string_view name) const;
  [[nodiscard]] const statistics::Histogram* latency(std::string_view name) const;
  /// The sum of all figures with this meaning.
  [[nodiscard]] std::uint64_t sum(Figure::Meaning meaning) const;
};

} // namespace tributary::pktgen::measure
