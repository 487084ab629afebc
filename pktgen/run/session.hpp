// One run of a scenario, from calibration to the last repeat or step of a search.
//
//   calibrate    the traffic through a switch core in this thread: the ceiling
//   repeat       start, warm up, measure, stop, wait for what is in flight
//   search       repeats at other rates: RFC 2544's throughput, by halving the interval
//
// However a run ends, it has the switch release what it holds for it: engines that stay armed would
// not be available to the next run. Not between measurements: frames of one would mislead the
// members of the next.
//
// A run that cannot continue records why in Result::failure and keeps what was measured until then,
// the measurement under way included (measuring.hpp).
#pragma once

#include "pktgen/result/live_view.hpp"
#include "pktgen/result/result.hpp"
#include "pktgen/run/clock.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/run/worker_pool.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "pktgen/transport/transport.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tributary::pktgen::run {

class Session {
public:
  /// Each rise of `interruptions` ends the run early: the first in good order, another one without
  /// waiting for frames in flight. All arguments outlive the session.
  Session(const scenario::Scenario& scenario, transport::Transport& transport, const Clock& clock,
          result::LiveView& view, const std::atomic<unsigned>& interruptions);

  /// Adds its findings to `result`.
  void run(result::Result& result);

private:
  void calibrate(result::Result& result);
  void repeat(result::Result& result);
  /// Throws RunFailed when the scenario does not support a search.
  void search(result::Result& result);
  /// How long the generator may leave its ports unpolled while idle.
  [[nodiscard]] result::LatencyFloor latency_floor(traffic::Traffic& traffic,
                                                   const std::vector<link::Port*>& ports) const;
  /// Tries a rate as often as needed; false when the run ended meanwhile.
  bool try_rate(double rate, result::Result& result);
  /// `rate` 0: the scenario's rate. A reason why the run cannot continue after it is recorded in
  /// `result`.
  result::Measurement measure(const std::string& phase, double rate, result::Result& result);
  [[nodiscard]] bool continues(const result::Result& result) const;
  [[nodiscard]] result::SearchTry judge(double rate, const result::Measurement& measured) const;
  void mark_bound(result::Measurement& measured, const result::Result& result) const;
  [[nodiscard]] std::unique_ptr<traffic::Traffic> traffic_at(double rate,
                                                             const std::vector<bool>& elsewhere);

  const scenario::Scenario& scenario_;
  transport::Transport& transport_;
  const Clock& clock_;
  result::LiveView& view_;
  const std::atomic<unsigned>& interruptions_;
  TrafficMaker maker_;
  std::uint64_t measurements_ = 0;
  std::unique_ptr<WorkerPool> pool_; ///< of the last measurement
};

} // namespace tributary::pktgen::run
