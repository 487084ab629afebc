// A result with something in every field, whose figures are easy to check by hand.
#pragma once

#include "pktgen/result/result.hpp"

namespace tributary::pktgen::report::test {

/// `n` from 0: each repeat does 1000 reductions more than the one before, in two seconds.
inline result::Measurement sample_measurement(std::uint64_t n) {
  result::Measurement m;
  m.seconds = 2;
  m.offered_rate = 500;
  m.operations = 1000 * (n + 1);
  m.tally.sent = {4000 * (n + 1), 98 * 4000 * (n + 1)};
  m.tally.received = {1000 * (n + 1), 98 * 1000 * (n + 1)};
  m.tally.figures = {{"reductions", m.operations, measure::Figure::Meaning::count},
                     {"lost_results", n, measure::Figure::Meaning::loss},
                     {"wrong_results", 0, measure::Figure::Meaning::fault}};
  measure::LatencySeries series{"reduction_at_root", {}};
  for (std::uint64_t i = 1; i <= 100; ++i) {
    series.histogram.record(i + n);
  }
  m.tally.latencies.push_back(std::move(series));
  m.tally.remarks = {"leaf 3 was late"};
  m.ports = {{"root", {1000, 98'000}, {1000, 98'000}, n, {{{1000, 98'000}, {1000, 98'000}}}},
             {"leaves",
              {3000, 294'000},
              {1000, 98'000},
              0,
              {{{1000, 98'000}, {750, 73'500}}, {{2000, 196'000}, {250, 24'500}}}}};
  m.workers = {{4, {{0, 0}, {1, 1}}, 0.5, 1250, 30 * n, 70, 0}, {5, {{1, 0}}, 0.1, 750, 70, 30, n}};
  m.switch_figures =
      result::SwitchFigures{3000, 1000, 0.5, 123, 7 * n, {{"leaf0.port.root.drop.no_tree", n}}};
  m.generator_busy = 0.25;
  m.generator_bound = n == 2;
  return m;
}

inline result::Result sample_result() {
  result::Result result;
  result.scenario = "three";
  result.kind = "reduce";
  result.settings = {{"leaves", "3"}, {"operators", "int_sum"}};
  result.port_descriptions = {"raw socket on veth0", "ring leaf0.p1"};
  result.version = "0.1.0";
  result.machine = "some processor, 2 cores";
  result.seed = 42;
  result.tsc_hz = 2e9;
  result.ceiling = result::Ceiling{10'000, 812.4, "through rings in its own thread"};
  result.latency_floor = result::LatencyFloor{63'000, true};
  result.repeats = {sample_measurement(0), sample_measurement(1), sample_measurement(2)};
  result.derived = {{"root_frames_per_reduction", {1, 1.5, 2}}};
  return result;
}

/// Two of three tries passed, or failed.
inline result::SearchStep sample_step(double rate, double loss, bool kept, bool passed) {
  const double achieved = kept ? rate : rate / 2;
  const result::SearchTry most{achieved, loss, kept, passed};
  return {rate, {most, {rate, 0.5, true, !passed}, most}, achieved, loss, kept, passed};
}

inline result::Result searched_result() {
  result::Result result = sample_result();
  result.search =
      result::SearchResult{750,
                           {sample_step(500, 0, true, true), sample_step(1000, 0.02, true, false),
                            sample_step(750, 0, true, true), sample_step(875, 0, false, false)},
                           {},
                           {}};
  result.search->at_shares = {{0.1, sample_measurement(0)}, {0.9, sample_measurement(1)}};
  return result;
}

/// The third repeat ended early, after half of its time.
inline result::Result interrupted_result() {
  result::Result result = sample_result();
  result.repeats[2].cut_short = true;
  result.repeats[2].seconds = 1;
  result.failure = "interface 'veth0' is gone";
  return result;
}

/// The fourth try ended early.
inline result::Result interrupted_search() {
  result::Result result = searched_result();
  result.search->at_shares.clear();
  result.search->cut_short = interrupted_result().repeats[2];
  result.failure = "interface 'veth0' is gone";
  return result;
}

} // namespace tributary::pktgen::report::test
