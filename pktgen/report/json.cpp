#include "pktgen/report/json.hpp"

#include "pktgen/report/metrics.hpp"

#include <boost/json.hpp>

#include <cmath>
#include <optional>

namespace tributary::pktgen::report {

using measure::Figure;
using result::Measurement;
using result::Result;

namespace {

namespace json = boost::json;

json::value number(double value) {
  return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

json::array texts(const std::vector<std::string>& lines) {
  return json::array(lines.begin(), lines.end());
}

json::object volume(const measure::Volume& v) { return {{"frames", v.frames}, {"bytes", v.bytes}}; }

json::object counts(const Counts& named) {
  json::object out;
  for (const auto& [name, value] : named) {
    out[name] = value;
  }
  return out;
}

std::string_view name_of(Figure::Meaning meaning) {
  switch (meaning) {
  case Figure::Meaning::count: return "count";
  case Figure::Meaning::loss: return "loss";
  case Figure::Meaning::fault: return "fault";
  }
  return "";
}

json::object figures(const measure::Tally& tally) {
  json::object out;
  for (const Figure& figure : tally.figures) {
    out[figure.name] = {{"value", figure.value}, {"meaning", name_of(figure.meaning)}};
  }
  return out;
}

json::object latency(const statistics::Histogram& histogram) {
  json::object out{{"count", histogram.count()},
                   {"min_ns", histogram.min()},
                   {"mean_ns", number(histogram.mean())}};
  for (const Quantile& quantile : quantiles) {
    out[quantile.key] = histogram.quantile(quantile.share);
  }
  out["max_ns"] = histogram.max();
  json::array buckets;
  histogram.for_each([&](std::uint64_t lowest, std::uint64_t highest, std::uint64_t count) {
    buckets.push_back({lowest, highest, count});
  });
  out["buckets"] = std::move(buckets);
  return out;
}

json::object latencies(const measure::Tally& tally) {
  json::object out;
  for (const measure::LatencySeries& series : tally.latencies) {
    out[series.name] = latency(series.histogram);
  }
  return out;
}

json::object summary(std::span<const double> values) {
  const statistics::Summary s = statistics::summarise(values);
  return {{"median", number(s.median)},
          {"min", number(s.min)},
          {"max", number(s.max)},
          {"spread", number(s.spread)}};
}

json::value switch_figures(const std::optional<result::SwitchFigures>& figures) {
  if (!figures) {
    return nullptr;
  }
  json::object drops;
  for (const result::SwitchCounter& counter : figures->drops) {
    drops[counter.name] = counter.rise;
  }
  return {{"received_frames", figures->received_frames},
          {"sent_frames", figures->sent_frames},
          {"busy_share", number(figures->busy_share)},
          {"cycles_per_frame", number(figures->cycles_per_frame)},
          {"arm_failures", figures->arm_failures},
          {"drops", std::move(drops)}};
}

json::array ports(const Measurement& measurement) {
  json::array out;
  for (const Measurement::PortFigures& port : measurement.ports) {
    json::array queues;
    for (const Measurement::PortFigures::QueueFigures& queue : port.queues) {
      queues.push_back({{"sent", volume(queue.sent)}, {"received", volume(queue.received)}});
    }
    out.push_back({{"name", port.name},
                   {"sent", volume(port.sent)},
                   {"received", volume(port.received)},
                   {"receive_drops", port.receive_drops},
                   {"queues", std::move(queues)}});
  }
  return out;
}

json::array workers(const Measurement& measurement) {
  json::array out;
  for (const Measurement::WorkerFigures& worker : measurement.workers) {
    json::array queues;
    for (const Measurement::WorkerFigures::Queue& queue : worker.queues) {
      queues.push_back({{"port", queue.port}, {"queue", queue.queue}});
    }
    out.push_back({{"core", worker.core ? json::value(*worker.core) : json::value(nullptr)},
                   {"queues", std::move(queues)},
                   {"busy_share", number(worker.busy_share)},
                   {"received_frames", worker.received_frames},
                   {"handed_on", worker.handed_on},
                   {"taken_over", worker.taken_over},
                   {"hand_off_drops", worker.hand_off_drops}});
  }
  return out;
}

json::object measurement_object(const Measurement& m) {
  json::object out{{"seconds", number(m.seconds)},
                   {"cut_short", m.cut_short},
                   {"offered_operations_per_second", number(m.offered_rate)},
                   {"operations", m.operations}};
  for (const Rate& rate : rates()) {
    out[rate.key] = number(rate.of(m));
  }
  out["sent"] = volume(m.tally.sent);
  out["received"] = volume(m.tally.received);
  out["figures"] = figures(m.tally);
  out["latencies"] = latencies(m.tally);
  out["remarks"] = texts(m.tally.remarks);
  out["ports"] = ports(m);
  out["generator"] = {{"busy_share", number(m.generator_busy)},
                      {"bound", m.generator_bound},
                      {"workers", workers(m)}};
  out["switch"] = switch_figures(m.switch_figures);
  return out;
}

/// What was derived for the `repeat`-th measurement.
json::object derived(const Result& result, std::size_t repeat) {
  json::object out;
  for (const auto& [name, values] : result.derived) {
    if (repeat < values.size()) {
      out[name] = number(values[repeat]);
    }
  }
  return out;
}

json::array repeats(const Result& result) {
  json::array out;
  for (std::size_t i = 0; i < result.repeats.size(); ++i) {
    json::object one = measurement_object(result.repeats[i]);
    one["derived"] = derived(result, i);
    out.push_back(std::move(one));
  }
  return out;
}

json::object summary_of(const Result& result) {
  const measure::Tally sum = total(result);
  json::object out{{"repeats", result.repeats.size()}};
  for (const Rate& rate : rates()) {
    out[rate.key] = summary(over_repeats(result, rate.of));
  }
  json::object of_derived;
  for (const auto& [name, values] : result.derived) {
    of_derived[name] = summary(of_whole_repeats(result, values));
  }
  out["derived"] = std::move(of_derived);
  out["figures"] = figures(sum);
  out["drops"] = {{"generator", counts(generator_drops(result))},
                  {"switch", counts(switch_drops(result))}};
  out["latencies"] = latencies(sum);
  return out;
}

json::value ceiling(const std::optional<result::Ceiling>& c) {
  if (!c) {
    return nullptr;
  }
  return {{"frames_per_second", number(c->frames_per_second)},
          {"cycles_per_frame", number(c->cycles_per_frame)},
          {"how", c->how},
          {"leaf_payload_bytes_per_second", number(c->leaf_payload_bytes_per_second)},
          {"total_payload_bytes_per_second", number(c->total_payload_bytes_per_second)}};
}

json::value latency_floor(const std::optional<result::LatencyFloor>& floor) {
  if (!floor) {
    return nullptr;
  }
  return {{"ns", floor->ns}, {"rests", floor->rests}};
}

json::object search_step(const result::SearchStep& step) {
  json::array tries;
  for (const result::SearchTry& one : step.tries) {
    tries.push_back({{"achieved_operations_per_second", number(one.achieved)},
                     {"loss", number(one.loss)},
                     {"kept", one.kept},
                     {"passed", one.passed}});
  }
  return {{"offered_operations_per_second", number(step.rate)},
          {"achieved_operations_per_second", number(step.achieved)},
          {"loss", number(step.loss)},
          {"kept", step.kept},
          {"passed", step.passed},
          {"tries", std::move(tries)}};
}

json::value search(const std::optional<result::SearchResult>& found) {
  if (!found) {
    return nullptr;
  }
  json::array steps;
  for (const result::SearchStep& step : found->steps) {
    steps.push_back(search_step(step));
  }
  json::array at_shares;
  for (const auto& [share, measurement] : found->at_shares) {
    json::object one{{"share", number(share)}};
    for (auto& [key, value] : measurement_object(measurement)) {
      one[key] = std::move(value);
    }
    at_shares.push_back(std::move(one));
  }
  return {{"operations_per_second", number(found->rate)},
          {"steps", std::move(steps)},
          {"at_shares", std::move(at_shares)},
          {"cut_short", found->cut_short ? json::value(measurement_object(*found->cut_short))
                                         : json::value(nullptr)}};
}

} // namespace

json::object json_of(const Result& result) {
  json::object settings;
  for (const auto& [key, value] : result.settings) {
    settings[key] = value;
  }
  return {{"format", "tributary-pktgen-result"},
          {"format_version", 1},
          {"version", result.version},
          {"machine", result.machine},
          {"tsc_hz", number(result.tsc_hz)},
          {"scenario", result.scenario},
          {"kind", result.kind},
          {"seed", result.seed},
          {"settings", std::move(settings)},
          {"ports", texts(result.port_descriptions)},
          {"ceiling", ceiling(result.ceiling)},
          {"latency_floor", latency_floor(result.latency_floor)},
          {"generator_bound", generator_bound(result)},
          {"summary", summary_of(result)},
          {"repeats", repeats(result)},
          {"search", search(result.search)},
          {"failure", text_or_null(result.failure)},
          {"problems", texts(result.problems)},
          {"warnings", texts(result.warnings)}};
}

std::string json_text(const Result& result) { return json::serialize(json_of(result)) + '\n'; }

} // namespace tributary::pktgen::report
