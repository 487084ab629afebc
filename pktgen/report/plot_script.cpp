#include "pktgen/report/metrics.hpp"
#include "pktgen/report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace tributary::pktgen::report {
namespace {

/// In gnuplot's single quotes, where only the quote itself means something; on one line.
std::string in_single_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    out += c == '\'' ? "'" : "";
  }
  return out + "'";
}

/// Series by series: its data, and how `plot` names it.
class Drawing {
public:
  explicit Drawing(std::string prefix) : prefix_(std::move(prefix)) {}

  /// `points`: a line each. A series without points is left out.
  void add(const std::string& title, std::string_view style, std::string_view points) {
    if (points.empty()) {
      return;
    }
    const std::string name = fmt::format("${}{}", prefix_, ++count_);
    data_ += fmt::format("{} << EOD\n{}EOD\n", name, points);
    add_curve(fmt::format("{} {} title {}", name, style, in_single_quotes(title)));
  }
  void add_curve(std::string_view curve) {
    curves_ += curves_.empty() ? "plot " : ", \\\n     ";
    curves_ += curve;
  }
  [[nodiscard]] bool empty() const { return curves_.empty(); }
  [[nodiscard]] std::string text() const { return data_ + curves_ + '\n'; }

private:
  std::string prefix_;
  std::size_t count_ = 0;
  std::string data_;
  std::string curves_;
};

std::string point(double x, double y) { return fmt::format("{:.9g} {:.9g}\n", x, y); }

std::string rates_of_repeats(const result::Result& result) {
  Drawing drawing("rate");
  const auto series = [&](const char* title, auto rate) {
    std::string points;
    double number = 0;
    for (const double value : over_repeats(result, rate)) {
      points += point(++number, value);
    }
    drawing.add(title, "using 1:2 with linespoints pt 7 ps 0.7 lw 2", points);
  };
  series("sent", [](const result::Measurement& m) { return m.per_second(m.tally.sent.frames); });
  series("received",
         [](const result::Measurement& m) { return m.per_second(m.tally.received.frames); });
  if (drawing.empty()) {
    return "";
  }
  if (result.ceiling) {
    drawing.add_curve(fmt::format("{:.9g} with lines dt 2 lw 2 lc rgb 'gray50' title "
                                  "'ceiling of the generator'",
                                  result.ceiling->frames_per_second));
  }
  return fmt::format("set xlabel 'repeat'\nset ylabel 'frames a second'\n"
                     "set xrange [0.5:{}.5]\nset xtics 1\nset yrange [0:*]\n"
                     "set format y '%.1s %c'\n",
                     result.repeats.size()) +
         drawing.text();
}

std::string rates_of_search(const result::SearchResult& search) {
  std::string passed;
  std::string failed;
  double highest = 0;
  for (const result::SearchStep& step : search.steps) {
    (step.passed ? passed : failed) += point(step.rate, step.achieved * (1 - step.loss));
    highest = std::max(highest, step.rate);
  }
  Drawing drawing("rate");
  drawing.add("passed", "using 1:2 with points pt 7 lc rgb 'forest-green'", passed);
  drawing.add("failed", "using 1:2 with points pt 2 lc rgb 'red'", failed);
  if (drawing.empty()) {
    return "";
  }
  drawing.add_curve("x with lines dt 2 lc rgb 'gray50' title 'nothing lost'");
  return fmt::format("set xlabel 'offered operations a second'\n"
                     "set ylabel 'achieved operations a second'\n"
                     "set xrange [0:{:.9g}]\nset yrange [0:*]\n"
                     "set format x '%.1s %c'\nset format y '%.1s %c'\n",
                     highest * 1.05) +
         drawing.text();
}

/// A step for each bucket: x = 1 / (share of events that took as long or longer).
std::string percentiles(const statistics::Histogram& histogram) {
  std::string points;
  const auto all = static_cast<double>(histogram.count());
  std::uint64_t before = 0;
  histogram.for_each([&](std::uint64_t /*low*/, std::uint64_t high, std::uint64_t count) {
    const auto ns = static_cast<double>(std::min(high, histogram.max()));
    points += point(all / (all - static_cast<double>(before)), std::max(ns, 1.0) * 1e-9);
    before += count;
  });
  if (!points.empty()) {
    points += point(all, std::max(static_cast<double>(histogram.max()), 1.0) * 1e-9);
  }
  return points;
}

std::string latencies(const result::Result& result) {
  constexpr std::string_view style = "using 1:2 with steps lw 2";
  Drawing drawing("latency");
  const measure::Tally sum = total(result);
  for (const measure::LatencySeries& series : sum.latencies) {
    drawing.add(series.name, style, percentiles(series.histogram));
  }
  if (result.search) {
    for (const auto& [share, measurement] : result.search->at_shares) {
      for (const measure::LatencySeries& series : measurement.tally.latencies) {
        drawing.add(fmt::format("{} at {:.0f} %", series.name, share * 100), style,
                    percentiles(series.histogram));
      }
    }
  }
  if (drawing.empty()) {
    return "";
  }
  return "set xlabel 'share of events that took less'\nset ylabel 'latency'\n"
         "set logscale xy\nset xrange [1:*]\nset yrange [*:*]\n"
         "set format y '%.0s %cs'\n"
         // The labels are formats.
         "set xtics ('50 %%' 2, '90 %%' 10, '99 %%' 100, '99.9 %%' 1e3, '99.99 %%' 1e4, "
         "'99.999 %%' 1e5, '99.9999 %%' 1e6, '99.99999 %%' 1e7, '99.999999 %%' 1e8)\n" +
         drawing.text();
}

} // namespace

std::string plot_script(const result::Result& result) {
  std::string panels;
  std::size_t count = 0;
  const auto add = [&](const std::string& panel) {
    if (!panel.empty()) {
      // Resets what the previous panel has set.
      panels += "unset logscale\nset xtics autofreq\nset format\n" + panel;
      ++count;
    }
  };
  add(result.search ? rates_of_search(*result.search) : rates_of_repeats(result));
  add(latencies(result));
  if (count == 0) {
    return "";
  }
  return fmt::format("set terminal svg noenhanced size 900,{} font 'sans,13' background 'white'\n"
                     "set grid\nset key above\nset rmargin 6\nset linetype 5 lc rgb 'brown'\n"
                     "set multiplot layout {},1 title {}\n{}unset multiplot\n",
                     50 + 400 * count, count, in_single_quotes(result.scenario), panels);
}

} // namespace tributary::pktgen::report
