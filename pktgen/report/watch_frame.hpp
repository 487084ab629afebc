// One picture of --watch, as a pure function of its input: rates with a sparkline of the last
// minute, drops, and the latencies as bars, as much of it as the terminal has room for.
//
//   measuring, 2 of 5, 3.1/5.0 s
//   [=================>            ]
//
//   sent        1.2 Mframes/s     ▁▂▃▄▅▆▇█
//   received    1.2 Mframes/s     ▁▂▃▄▅▆▇█
//   operations  300 kop/s         ▁▂▃▄▅▆▇█
//   dropped     0
//   by switch   0
//   waiting for leaf 7
//
//   latency of 12345: p50 12 us, p99 80 us, max 1.2 ms
//      10 us -     20 us  ██████████████████▌    61.20 %
//      20 us -     40 us  ███▎                   10.01 %
#pragma once

#include "lib/terminal/descriptor.hpp"
#include "pktgen/result/live_view.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tributary::pktgen::report {

/// A rate over the last minute, a value each second.
class RateHistory {
public:
  static constexpr std::size_t seconds = 60;
  /// Several values of one second become their mean.
  void add(double rate, TimeNs now);
  /// Oldest first, at most `seconds` of them.
  [[nodiscard]] std::span<const double> values() const { return values_; }

private:
  std::vector<double> values_;
  std::uint64_t second_ = 0; ///< of the last value
  std::size_t samples_ = 0;  ///< that the last value is the mean of
};

struct WatchFrame {
  result::LiveFigures figures;
  RateHistory sent;
  RateHistory received;
  RateHistory operations;
};

/// A block character for each value, as high as its share of `top`.
[[nodiscard]] std::string sparkline(std::span<const double> values, double top);

/// A bar of `share` (0 to 1) of `columns` columns, to an eighth of a column.
[[nodiscard]] std::string bar(double share, std::size_t columns);

/// At most `size.rows` lines of at most `size.columns` characters, joined by line breaks.
[[nodiscard]] std::string render(const WatchFrame& frame, terminal::Size size, bool colours);

} // namespace tributary::pktgen::report
