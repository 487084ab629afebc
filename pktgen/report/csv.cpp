#include "pktgen/report/csv.hpp"

#include "pktgen/report/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>

namespace tributary::pktgen::report {
namespace {

/// Lines whose further columns are found on the way.
class Sheet {
public:
  explicit Sheet(std::initializer_list<std::string> first_columns) {
    for (const std::string& column : first_columns) {
      static_cast<void>(number_of(column));
    }
  }
  void begin_line() { lines_.emplace_back(); }
  void set(const std::string& column, std::string value) {
    const std::size_t number = number_of(column);
    std::vector<std::string>& line = lines_.back();
    line.resize(std::max(line.size(), number + 1));
    line[number] = std::move(value);
  }
  void set(const std::string& column, std::string_view value) { set(column, std::string(value)); }
  void set(const std::string& column, std::uint64_t value) { set(column, std::to_string(value)); }
  void set(const std::string& column, double value) {
    set(column, std::isfinite(value) ? fmt::format("{}", value) : std::string());
  }
  void set(const std::string& column, bool value) {
    set(column, std::string_view(value ? "true" : "false"));
  }

  [[nodiscard]] std::string text() const {
    std::string out;
    add_line(out, titles_);
    for (const std::vector<std::string>& line : lines_) {
      add_line(out, line);
    }
    return out;
  }

private:
  std::size_t number_of(const std::string& column) {
    const auto [at, is_new] = numbers_.try_emplace(column, titles_.size());
    if (is_new) {
      titles_.push_back(column);
    }
    return at->second;
  }
  void add_line(std::string& out, const std::vector<std::string>& fields) const {
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      out += i == 0 ? "" : ",";
      out += i < fields.size() ? csv_field(fields[i]) : "";
    }
    out += "\r\n";
  }

  std::vector<std::string> titles_;
  std::map<std::string, std::size_t> numbers_; ///< of the columns
  std::vector<std::vector<std::string>> lines_;
};

void set_latency(Sheet& sheet, const measure::LatencySeries& series) {
  const std::string before = "latencies." + series.name + ".";
  sheet.set(before + "count", series.histogram.count());
  sheet.set(before + "min_ns", series.histogram.min());
  sheet.set(before + "mean_ns", series.histogram.mean());
  for (const Quantile& quantile : quantiles) {
    sheet.set(before + std::string(quantile.key), series.histogram.quantile(quantile.share));
  }
  sheet.set(before + "max_ns", series.histogram.max());
}

void set_measurement(Sheet& sheet, const result::Measurement& m) {
  sheet.set("seconds", m.seconds);
  sheet.set("cut_short", m.cut_short);
  sheet.set("offered_operations_per_second", m.offered_rate);
  sheet.set("operations", m.operations);
  for (const Rate& rate : rates()) {
    sheet.set(std::string(rate.key), rate.of(m));
  }
  sheet.set("sent.frames", m.tally.sent.frames);
  sheet.set("sent.bytes", m.tally.sent.bytes);
  sheet.set("received.frames", m.tally.received.frames);
  sheet.set("received.bytes", m.tally.received.bytes);
  sheet.set("generator.busy_share", m.generator_busy);
  sheet.set("generator.bound", m.generator_bound);
  std::uint64_t generator_drops = 0;
  for (const result::Measurement::PortFigures& port : m.ports) {
    generator_drops += port.receive_drops;
  }
  sheet.set("generator.receive_drops", generator_drops);
  if (m.switch_figures) {
    sheet.set("switch.received_frames", m.switch_figures->received_frames);
    sheet.set("switch.sent_frames", m.switch_figures->sent_frames);
    sheet.set("switch.busy_share", m.switch_figures->busy_share);
    sheet.set("switch.cycles_per_frame", m.switch_figures->cycles_per_frame);
    sheet.set("switch.arm_failures", m.switch_figures->arm_failures);
    sheet.set("switch.drops", m.switch_figures->dropped_frames());
  }
  for (const measure::Figure& figure : m.tally.figures) {
    sheet.set("figures." + figure.name, figure.value);
  }
  for (const measure::LatencySeries& series : m.tally.latencies) {
    set_latency(sheet, series);
  }
}

} // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c == '"' ? "\"\"" : std::string_view(&c, 1);
  }
  return out + '"';
}

std::string csv_text(const result::Result& result) {
  Sheet sheet({"scenario", "kind", "seed", "repeat", "search_share"});
  const auto begin = [&](std::string_view repeat, std::string_view share) {
    sheet.begin_line();
    sheet.set("scenario", result.scenario);
    sheet.set("kind", result.kind);
    sheet.set("seed", result.seed);
    sheet.set("repeat", repeat);
    sheet.set("search_share", share);
  };
  for (std::size_t i = 0; i < result.repeats.size(); ++i) {
    begin(std::to_string(i + 1), "");
    set_measurement(sheet, result.repeats[i]);
    for (const auto& [name, values] : result.derived) {
      if (i < values.size()) {
        sheet.set("derived." + name, values[i]);
      }
    }
  }
  if (result.search) {
    for (const auto& [share, measurement] : result.search->at_shares) {
      begin("", fmt::format("{}", share));
      set_measurement(sheet, measurement);
    }
    if (result.search->cut_short) {
      begin("", "");
      set_measurement(sheet, *result.search->cut_short);
    }
  }
  return sheet.text();
}

} // namespace tributary::pktgen::report
