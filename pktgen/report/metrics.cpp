#include "pktgen/report/metrics.hpp"

#include <algorithm>

namespace tributary::pktgen::report {

using result::Measurement;
using result::Result;

namespace {

constexpr std::array all_rates = {
    Rate{"operations_per_second", "operations", "op/s",
         [](const Measurement& m) { return m.per_second(m.operations); }},
    Rate{"sent_frames_per_second", "sent", "frames/s",
         [](const Measurement& m) { return m.per_second(m.tally.sent.frames); }},
    Rate{"sent_wire_bits_per_second", "", "bit/s",
         [](const Measurement& m) { return m.per_second(wire_bits(m.tally.sent)); }},
    Rate{"received_frames_per_second", "received", "frames/s",
         [](const Measurement& m) { return m.per_second(m.tally.received.frames); }},
    Rate{"received_wire_bits_per_second", "", "bit/s",
         [](const Measurement& m) { return m.per_second(wire_bits(m.tally.received)); }},
};

void add(Counts& counts, const std::string& name, std::uint64_t value) {
  const auto same =
      std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == name; });
  if (same == counts.end()) {
    counts.emplace_back(name, value);
  } else {
    same->second += value;
  }
}

} // namespace

std::span<const Rate> rates() { return all_rates; }

std::vector<double> of_whole_repeats(const Result& result, std::span<const double> by_repeat) {
  std::vector<double> values;
  for (std::size_t i = 0; i < by_repeat.size(); ++i) {
    if (!result.repeats[i].cut_short) {
      values.push_back(by_repeat[i]);
    }
  }
  return values.empty() ? std::vector<double>(by_repeat.begin(), by_repeat.end()) : values;
}

measure::Tally total(const Result& result) {
  measure::Tally sum;
  for (const Measurement& measurement : result.repeats) {
    sum.merge(measurement.tally);
  }
  return sum;
}

Counts generator_drops(const Result& result) {
  Counts drops;
  for (const Measurement& measurement : result.repeats) {
    for (const Measurement::PortFigures& port : measurement.ports) {
      add(drops, port.name, port.receive_drops);
    }
  }
  return drops;
}

Counts switch_drops(const Result& result) {
  Counts drops;
  for (const Measurement& measurement : result.repeats) {
    if (measurement.switch_figures) {
      for (const result::SwitchCounter& counter : measurement.switch_figures->drops) {
        add(drops, counter.name, counter.rise);
      }
    }
  }
  return drops;
}

bool generator_bound(const Result& result) {
  return std::any_of(result.repeats.begin(), result.repeats.end(),
                     [](const Measurement& m) { return m.generator_bound; });
}

} // namespace tributary::pktgen::report
