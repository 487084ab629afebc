#include "pktgen/report/watch_frame.hpp"

#include "lib/terminal/table.hpp"
#include "lib/terminal/units.hpp"
#include "lib/terminal/width.hpp"
#include "pktgen/report/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace tributary::pktgen::report {
namespace {

using terminal::cut_to;
using terminal::duration_text;
using terminal::padded;
using terminal::quantity_text;
using terminal::Size;
using terminal::Style;
using terminal::styled;

constexpr std::array<std::string_view, 8> lower_eighths = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> left_eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

constexpr std::size_t label_columns = 12;
constexpr std::size_t value_columns = 18;
constexpr std::size_t most_bins = 12;

/// Lines that are cut to the terminal's width before they are coloured.
class Page {
public:
  Page(Size size, bool colours) : size_(size), colours_(colours) {}

  void add(std::string_view line, Style style = Style::plain) {
    if (lines_ < size_.rows) {
      text_ += lines_ == 0 ? "" : "\n";
      text_ += styled(cut_to(line, size_.columns), style, colours_);
      ++lines_;
    }
  }
  [[nodiscard]] std::size_t free_rows() const { return size_.rows - lines_; }
  [[nodiscard]] std::size_t columns() const { return size_.columns; }
  [[nodiscard]] const std::string& text() const { return text_; }

private:
  Size size_;
  bool colours_;
  std::size_t lines_ = 0;
  std::string text_;
};

std::string progress_bar(double share, std::size_t columns) {
  const std::size_t room = std::min<std::size_t>(columns, 60) - 2;
  const auto done =
      static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(room));
  return '[' + std::string(done, '=') + std::string(room - done, ' ') + ']';
}

double highest(const RateHistory& history) {
  const std::span<const double> values = history.values();
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

void add_rate(Page& page, std::string_view label, double rate, std::string_view unit,
              const RateHistory& history, double top) {
  std::string line =
      padded(label, label_columns) + padded(quantity_text(rate, unit), value_columns);
  const std::size_t room = page.columns() - std::min(page.columns(), label_columns + value_columns);
  const std::span<const double> values = history.values();
  line += sparkline(values.last(std::min(values.size(), room)), top);
  page.add(line);
}

struct Bin {
  double lowest = 0;
  double highest = 0;
  std::uint64_t count = 0;
};

/// The recorded values in at most `most` bins, each as many times as wide as the one before.
std::vector<Bin> bins_of(const statistics::Histogram& histogram, std::size_t most) {
  const auto lowest = static_cast<double>(std::max<std::uint64_t>(histogram.min(), 1));
  const double factor = std::max(static_cast<double>(histogram.max()) / lowest, 1.0);
  // A bin is at least a tenth of its values wide: narrower ones add no information.
  const std::size_t count = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::ceil(std::log(factor) / std::log(1.1))), 1, most);
  const double step = std::log(factor) / static_cast<double>(count);
  std::vector<Bin> bins(count);
  for (std::size_t i = 0; i < count; ++i) {
    bins[i].lowest = lowest * std::exp(step * static_cast<double>(i));
    bins[i].highest = lowest * std::exp(step * static_cast<double>(i + 1));
  }
  histogram.for_each([&](std::uint64_t low, std::uint64_t high, std::uint64_t n) {
    const double middle = static_cast<double>(low) + static_cast<double>(high - low) / 2;
    const double place = step > 0 ? std::log(std::max(middle / lowest, 1.0)) / step : 0;
    bins[std::min(static_cast<std::size_t>(place), count - 1)].count += n;
  });
  return bins;
}

std::string edge_text(double ns) {
  return duration_text(static_cast<std::uint64_t>(std::llround(ns)));
}

void add_latencies(Page& page, const statistics::Histogram& histogram) {
  page.add("");
  page.add(fmt::format("latency of {}: p50 {}, p99 {}, max {}", histogram.count(),
                       duration_text(histogram.quantile(0.5)),
                       duration_text(histogram.quantile(0.99)), duration_text(histogram.max())),
           Style::heading);
  const std::vector<Bin> bins = bins_of(histogram, std::min(page.free_rows(), most_bins));
  std::uint64_t most = 1;
  for (const Bin& bin : bins) {
    most = std::max(most, bin.count);
  }
  constexpr std::size_t beside = 32; // the columns of everything but the bar
  const std::size_t room = page.columns() - std::min(page.columns(), beside);
  for (const Bin& bin : bins) {
    const auto count = static_cast<double>(bin.count);
    page.add(fmt::format("{:>8} - {:>8}  {}  {:>9}", edge_text(bin.lowest), edge_text(bin.highest),
                         padded(bar(count / static_cast<double>(most), room), room),
                         terminal::share_text(count / static_cast<double>(histogram.count()))));
  }
}

} // namespace

void RateHistory::add(double rate, TimeNs now) {
  const std::uint64_t second = now.value / 1'000'000'000;
  if (values_.empty() || second != second_) {
    if (values_.size() == seconds) {
      values_.erase(values_.begin());
    }
    values_.push_back(rate);
    second_ = second;
    samples_ = 1;
    return;
  }
  ++samples_;
  values_.back() += (rate - values_.back()) / static_cast<double>(samples_);
}

std::string sparkline(std::span<const double> values, double top) {
  std::string out;
  for (const double value : values) {
    const double share = top > 0 ? std::clamp(value / top, 0.0, 1.0) : 0;
    out += lower_eighths[static_cast<std::size_t>(std::lround(share * 7))];
  }
  return out;
}

std::string bar(double share, std::size_t columns) {
  const auto eighths = static_cast<std::size_t>(
      std::lround(std::clamp(share, 0.0, 1.0) * 8 * static_cast<double>(columns)));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) {
    out += lower_eighths.back();
  }
  out += left_eighths[eighths % 8];
  return out;
}

std::string render(const WatchFrame& frame, Size size, bool colours) {
  const result::LiveFigures& f = frame.figures;
  Page page(size, colours);
  page.add(phase_text(f), Style::heading);
  if (f.total_seconds > 0 && size.columns > 2) {
    page.add(progress_bar(f.elapsed_seconds / f.total_seconds, size.columns));
  }
  page.add("");
  const double top = std::max(highest(frame.sent), highest(frame.received));
  add_rate(page, "sent", f.sent_frames_per_second, "frames/s", frame.sent, top);
  add_rate(page, "received", f.received_frames_per_second, "frames/s", frame.received, top);
  add_rate(page, "operations", f.operations_per_second, "op/s", frame.operations,
           highest(frame.operations));
  page.add(padded("dropped", label_columns) + std::to_string(f.drops),
           f.drops > 0 ? Style::warning : Style::plain);
  if (f.switch_drops) {
    page.add(padded("by switch", label_columns) + std::to_string(*f.switch_drops),
             *f.switch_drops > 0 ? Style::warning : Style::plain);
  }
  if (!f.waiting_for.empty()) {
    page.add("waiting for " + f.waiting_for);
  }
  constexpr std::size_t fewest_rows = 4; // a blank, a heading and two bars
  if (f.latency != nullptr && f.latency->count() > 0 && page.free_rows() >= fewest_rows) {
    add_latencies(page, *f.latency);
  }
  return page.text();
}

} // namespace tributary::pktgen::report
