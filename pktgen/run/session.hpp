// One run of a scenario, from calibration to the last repeat or step of a search.
//
//   calibrate    the traffic through a switch core in this thread: the ceiling
//   repeat       start, warm up, measure, stop, wait for what is under way
//   search       repeats at other rates: RFC 2544's throughput, by halving the interval
//
// However a run ends, the switch is told to forget what it holds for it: engines that stay armed
// would be missing to whoever measures next. Not between measurements: frames of the one before
// would mislead the members of the next.
//
// A run that cannot go on says why in Result::failure and keeps what was measured until then, the
// measurement under way included (measuring.hpp).
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

namespace tributary::pktgen {

class Session {
public:
  /// Each rise of `interruptions` ends the run early: the first in good order, another one without
  /// waiting for what is under way. All outlive the session.
  Session(const Scenario& scenario, Transport& transport, const Clock& clock, LiveView& view,
          const std::atomic<unsigned>& interruptions);

  /// Adds what it finds out to `result`.
  void run(Result& result);

private:
  void calibrate(Result& result);
  void repeat(Result& result);
  /// Throws RunFailed when the scenario is not one to search with.
  void search(Result& result);
  /// How long the generator may not look at its ports when it has nothing to do.
  [[nodiscard]] LatencyFloor latency_floor(Traffic& traffic, const std::vector<Port*>& ports) const;
  /// Tries a rate as often as it takes; false when the run ended meanwhile.
  bool try_rate(double rate, Result& result);
  /// `rate` 0: as the scenario says. Why the run cannot go on after it stands in `result`.
  Measurement measure(const std::string& phase, double rate, Result& result);
  [[nodiscard]] bool goes_on(const Result& result) const;
  [[nodiscard]] SearchTry judge(double rate, const Measurement& measured) const;
  void mark_bound(Measurement& measured, const Result& result) const;
  [[nodiscard]] std::unique_ptr<Traffic> traffic_at(double rate,
                                                    const std::vector<bool>& elsewhere);

  const Scenario& scenario_;
  Transport& transport_;
  const Clock& clock_;
  LiveView& view_;
  const std::atomic<unsigned>& interruptions_;
  TrafficMaker maker_;
  std::uint64_t measurements_ = 0;
  std::unique_ptr<WorkerPool> pool_; ///< of the last measurement
};

} // namespace tributary::pktgen
