#include "pktgen/report/table.hpp"

#include "lib/terminal/table.hpp"
#include "lib/terminal/units.hpp"
#include "pktgen/report/metrics.hpp"
#include "pktgen/report/queue_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace tributary::pktgen::report {

using measure::Figure;
using measure::Tally;
using result::Measurement;
using result::Result;

namespace {

using terminal::Cell;
using terminal::Column;
using terminal::duration_text;
using terminal::quantity_text;
using terminal::share_text;
using terminal::Style;
using terminal::styled;
using terminal::Table;
using terminal::Align::right;

/// What the name of a derived rate ends in, and its unit.
struct RateName {
  std::string_view ending;
  std::string_view unit;
};
constexpr RateName rate_names[] = {{"_bits_per_second", "bit/s"}, {"_bytes_per_second", "B/s"}};

/// "root_frames_per_reduction" as people write it.
std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// Figures that each repeat has, a line each. Of one repeat there is neither a median nor a spread.
class SummaryTable {
public:
  SummaryTable(std::string title, std::size_t repeats)
      : single_(repeats == 1), table_(columns(std::move(title), single_)) {}

  template <typename Text> void add(std::string name, std::span<const double> values, Text&& text) {
    const statistics::Summary s = statistics::summarise(values);
    std::vector<Cell> row = {{std::move(name)}, {text(s.median)}};
    if (!single_) {
      row.insert(row.end(), {{share_text(s.spread)}, {text(s.min)}, {text(s.max)}});
    }
    table_.add(std::move(row));
  }
  [[nodiscard]] std::string text(const terminal::Display& display) const {
    return table_.text(display);
  }

private:
  static std::vector<Column> columns(std::string title, bool single) {
    if (single) {
      return {{std::move(title)}, {"", right}};
    }
    return {
        {std::move(title)}, {"MEDIAN", right}, {"SPREAD", right}, {"MIN", right}, {"MAX", right}};
  }

  bool single_;
  Table table_;
};

std::string heading(const Result& result, const terminal::Display& display) {
  std::string out = styled(result.scenario, Style::heading, display);
  if (result.kind != result.scenario) {
    out += fmt::format(" ({})", result.kind);
  }
  out += fmt::format(", seed {}\n", result.seed);
  for (const std::string& port : result.port_descriptions) {
    out += fmt::format("  {}\n", port);
  }
  if (!result.machine.empty()) {
    out += fmt::format("  on {}\n", result.machine);
  }
  return out;
}

std::string ceiling_line(const Result& result, std::string_view counted) {
  if (!result.ceiling) {
    return "";
  }
  const result::Ceiling& c = *result.ceiling;
  std::string line = fmt::format("Ceiling of the generator: {}, {:.0f} {} a frame, {}\n",
                                 quantity_text(c.frames_per_second, "frames/s"), c.cycles_per_frame,
                                 counted, c.how);
  if (c.total_payload_bytes_per_second > 0) {
    line += fmt::format("  vectors: {} of each leaf, {} in all\n",
                        quantity_text(c.leaf_payload_bytes_per_second, "B/s"),
                        quantity_text(c.total_payload_bytes_per_second, "B/s"));
  }
  return line;
}

std::string floor_line(const Result& result) {
  if (!result.latency_floor) {
    return "";
  }
  return fmt::format("Latency floor of the generator: up to {} of its own, {}\n",
                     duration_text(result.latency_floor->ns),
                     result.latency_floor->rests
                         ? "as it rests with nothing to do (--busy-generator polls)"
                         : "a turn over its ports");
}

std::string verdict_on_generator(const Result& result, const terminal::Display& display) {
  if (!generator_bound(result)) {
    return "";
  }
  const auto bound = std::count_if(result.repeats.begin(), result.repeats.end(),
                                   [](const Measurement& m) { return m.generator_bound; });
  return styled("generator-bound", Style::warning, display) +
         fmt::format(": in {} of {} repeats the generator was at its limit, so this may be its "
                     "own rate\n",
                     bound, result.repeats.size());
}

std::string rates_table(const Result& result, const terminal::Display& display) {
  SummaryTable table("RATE", result.repeats.size());
  const std::vector<double> offered =
      over_repeats(result, [](const Measurement& m) { return m.offered_rate; });
  if (std::any_of(offered.begin(), offered.end(), [](double rate) { return rate > 0; })) {
    table.add("offered operations", offered,
              [](double rate) { return quantity_text(rate, "op/s"); });
  }
  for (const Rate& rate : rates()) {
    table.add(std::string(rate.label), over_repeats(result, rate.of),
              [&](double value) { return quantity_text(value, rate.unit); });
  }
  for (const auto& [name, values] : result.derived) {
    const auto rate = std::ranges::find_if(
        rate_names, [&name = name](const RateName& each) { return name.ends_with(each.ending); });
    const bool is_rate = rate != std::end(rate_names);
    table.add(words(is_rate ? name.substr(0, name.size() - rate->ending.size()) : name),
              of_whole_repeats(result, values), [&](double value) {
                return is_rate ? quantity_text(value, rate->unit) : fmt::format("{:.4g}", value);
              });
  }
  table.add("generator busy",
            over_repeats(result, [](const Measurement& m) { return m.generator_busy; }),
            share_text);
  return table.text(display);
}

/// What the switch did, as far as it reports it.
std::string switch_table(const Result& result, const terminal::Display& display,
                         std::string_view counted) {
  std::vector<double> busy;
  std::vector<double> cycles;
  for (const Measurement& m : result.repeats) {
    if (m.switch_figures && m.switch_figures->busy_share > 0) {
      busy.push_back(m.switch_figures->busy_share);
    }
    if (m.switch_figures && m.switch_figures->cycles_per_frame > 0) {
      cycles.push_back(m.switch_figures->cycles_per_frame);
    }
  }
  std::vector<double> arm_failures;
  for (const Measurement& m : result.repeats) {
    if (m.switch_figures) {
      arm_failures.push_back(static_cast<double>(m.switch_figures->arm_failures));
    }
  }
  const bool failed = std::ranges::any_of(arm_failures, [](double count) { return count > 0; });
  if (busy.empty() && cycles.empty() && !failed) {
    return "";
  }
  SummaryTable table("SWITCH", result.repeats.size());
  if (!busy.empty()) {
    table.add("busy", busy, share_text);
  }
  if (!cycles.empty()) {
    table.add(fmt::format("{} a frame", counted), cycles,
              [](double value) { return fmt::format("{:.0f}", value); });
  }
  if (failed) {
    table.add("arm failures", arm_failures,
              [](double value) { return fmt::format("{:.0f}", value); });
  }
  return '\n' + table.text(display);
}

Style style_of(const Figure& figure) {
  return figure.value == 0                          ? Style::plain
         : figure.meaning == Figure::Meaning::fault ? Style::bad
         : figure.meaning == Figure::Meaning::loss  ? Style::warning
                                                    : Style::plain;
}

std::string counts_table(const Result& result, const Tally& sum, const terminal::Display& display) {
  Table table({{"COUNT"}, {result.repeats.size() == 1 ? "" : "TOTAL", right}});
  table.add({{"frames sent"}, {std::to_string(sum.sent.frames)}});
  table.add({{"frames received"}, {std::to_string(sum.received.frames)}});
  for (const Figure& figure : sum.figures) {
    const Style style = style_of(figure);
    table.add({{words(figure.name), style}, {std::to_string(figure.value), style}});
  }
  return '\n' + table.text(display);
}

/// One line for each series; `name` says which.
std::vector<Cell> latency_row(std::string name, const statistics::Histogram& histogram) {
  std::vector<Cell> row = {
      {std::move(name)},
      {std::to_string(histogram.count())},
      {duration_text(histogram.min())},
      {duration_text(static_cast<std::uint64_t>(std::llround(histogram.mean())))}};
  for (const Quantile& quantile : quantiles) {
    row.push_back({duration_text(histogram.quantile(quantile.share))});
  }
  row.push_back({duration_text(histogram.max())});
  return row;
}

Table latency_table() {
  std::vector<Column> columns = {{"LATENCY"}, {"COUNT", right}, {"MIN", right, 2}, {"MEAN", right}};
  for (const Quantile& quantile : quantiles) {
    columns.push_back({std::string(quantile.label), right, quantile.share < 0.99 ? 1U : 0U});
  }
  columns.push_back({"MAX", right});
  return Table(std::move(columns));
}

std::string latencies(const Tally& sum, const terminal::Display& display) {
  Table table = latency_table();
  for (const measure::LatencySeries& series : sum.latencies) {
    table.add(latency_row(words(series.name), series.histogram));
  }
  return table.empty() ? "" : '\n' + table.text(display);
}

std::string drops_table(const Result& result, const terminal::Display& display) {
  Table table({{"DROPPED BY"}, {"WHERE"}, {"FRAMES", right}});
  const auto add = [&](std::string_view side, const Counts& counts) {
    for (const auto& [name, value] : counts) {
      if (value > 0) {
        table.add({{std::string(side)}, {name}, {std::to_string(value), Style::warning}});
      }
    }
  };
  add("generator", generator_drops(result));
  add("switch", switch_drops(result));
  return table.empty() ? "" : '\n' + table.text(display);
}

std::string search_text(const result::SearchResult& search, bool ended_early,
                        const terminal::Display& display) {
  Table steps({{"OFFERED", right}, {"DONE", right}, {"LOST", right}, {"PASSED", right}, {""}});
  for (const result::SearchStep& step : search.steps) {
    const auto passed = std::ranges::count_if(step.tries, &result::SearchTry::passed);
    steps.add({{quantity_text(step.rate, "op/s")},
               {quantity_text(step.achieved, "op/s")},
               {share_text(step.loss)},
               {fmt::format("{} of {}", passed, step.tries.size())},
               {step.passed  ? "passed"
                : !step.kept ? "failed: the rate was not kept"
                             : "failed",
                step.passed ? Style::good : Style::warning}});
  }
  if (search.cut_short) {
    steps.add(
        {{quantity_text(search.cut_short->offered_rate, "op/s")},
         {""},
         {""},
         {""},
         {fmt::format("cut short after {:.4g} s", search.cut_short->seconds), Style::warning}});
  }
  std::string out = '\n' + steps.text(display);
  if (search.rate > 0) {
    out += fmt::format("Highest rate that passed: {}\n", quantity_text(search.rate, "op/s"));
  } else if (!ended_early || !search.steps.empty()) {
    out += styled("No rate passed.", Style::bad, display) + '\n';
  }
  Table table = latency_table();
  const auto add = [&](const Measurement& measurement, const std::string& when) {
    for (const measure::LatencySeries& series : measurement.tally.latencies) {
      table.add(latency_row(fmt::format("{}{}{}", words(series.name), when,
                                        measurement.cut_short ? ", cut short" : ""),
                            series.histogram));
    }
  };
  for (const auto& [share, measurement] : search.at_shares) {
    add(measurement, fmt::format(" at {:.0f} %", share * 100));
  }
  if (search.cut_short) {
    add(*search.cut_short, "");
  }
  return table.empty() ? out : out + '\n' + table.text(display);
}

std::string troubles(const Result& result, const Tally& sum, const terminal::Display& display) {
  std::string out;
  for (const std::string& remark : sum.remarks) {
    out += fmt::format("  {}\n", remark);
  }
  for (const std::string& warning : result.warnings) {
    out += styled("warning: ", Style::warning, display) + warning + '\n';
  }
  for (const std::string& problem : result.problems) {
    out += styled(problem, Style::bad, display) + '\n';
  }
  if (!result.failure.empty()) {
    out += styled("ended early: ", Style::bad, display) + result.failure + '\n';
  }
  return out.empty() ? "" : '\n' + out;
}

/// Number and duration of the measurements, and which were cut short.
std::string times_measured(const Result& result, const terminal::Display& display) {
  const double seconds = statistics::summarise(over_repeats(result, [](const Measurement& m) {
                           return m.seconds;
                         })).median;
  const bool cut_short = result.repeats.back().cut_short;
  const std::size_t whole = result.repeats.size() - (cut_short ? 1 : 0);
  std::string out;
  if (whole == 0) {
    out = fmt::format("Measured for {:.4g} s, ", seconds) +
          styled("cut short", Style::warning, display);
  } else {
    out = whole == 1 ? fmt::format("Measured for {:.4g} s", seconds)
                     : fmt::format("Measured {} times for {:.4g} s", whole, seconds);
    if (cut_short) {
      out +=
          fmt::format(", and again, {} after {:.4g} s",
                      styled("cut short", Style::warning, display), result.repeats.back().seconds);
    }
  }
  return out + "\n\n";
}

} // namespace

std::string table_text(const Result& result, const terminal::Display& display,
                       std::string_view counted) {
  std::string out = heading(result, display) + ceiling_line(result, counted) + floor_line(result);
  const Tally sum = total(result);
  if (!result.repeats.empty()) {
    out += times_measured(result, display);
    out += rates_table(result, display) + verdict_on_generator(result, display) +
           switch_table(result, display, counted) + counts_table(result, sum, display) +
           latencies(sum, display) + queue_tables(result, display) + drops_table(result, display);
  }
  if (result.search) {
    out += search_text(*result.search, !result.failure.empty(), display);
  }
  return out + troubles(result, sum, display);
}

} // namespace tributary::pktgen::report
