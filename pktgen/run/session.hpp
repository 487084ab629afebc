// One run of a scenario, from calibration to the last repeat or step of a search.
//
//   calibrate    the traffic through a switch core in this thread: the ceiling
//   repeat       start, warm up, measure, stop, wait for what is under way
//   search       repeats at other rates: RFC 2544's throughput, by halving the interval
//
// A run that cannot go on says why in Result::failure and keeps what was measured until then.
#pragma once

#include "pktgen/report/live.hpp"
#include "pktgen/run/clock.hpp"
#include "pktgen/run/crew.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/run/result.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "pktgen/transport/transport.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tributary::pktgen {

class Session {
public:
  /// `interrupted` ends the run early, in good order. All outlive the session.
  Session(const Scenario& scenario, Transport& transport, const Clock& clock, LiveView& view,
          const std::atomic<bool>& interrupted);

  /// Adds what it finds out to `result`.
  void run(Result& result);

private:
  /// Throws RunFailed.
  void calibrate(Result& result);
  void repeat(Result& result);
  void search(Result& result);
  /// `rate` 0: as the scenario says.
  Measurement measure(const std::string& phase, double rate, Result& result);
  /// Throws RunFailed when nothing has come back for too long.
  void require_answers(Crew& crew, TimeNs started);
  /// Asks `enough` now and then.
  template <typename Enough> void sleep_until(TimeNs end, Enough&& enough);
  [[nodiscard]] SearchStep judge(double rate, const Measurement& measured) const;
  void mark_bound(Measurement& measured, const Result& result) const;
  [[nodiscard]] std::unique_ptr<Traffic> traffic_at(double rate,
                                                    const std::vector<bool>& elsewhere);

  const Scenario& scenario_;
  Transport& transport_;
  const Clock& clock_;
  LiveView& view_;
  const std::atomic<bool>& interrupted_;
  TrafficMaker maker_;
  std::uint64_t measurements_ = 0;
  bool answered_ = false; ///< some frame came back in this measurement
};

} // namespace tributary::pktgen
