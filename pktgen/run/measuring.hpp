// One measurement of a scenario: start, warm up, measure, stop, wait for what is in flight.
//
//   Measuring one(scenario, transport, clock, view, interruptions);
//   const Measured found = one.run("measuring", rate, make_traffic, pool);
//   pool->give_up();                     behind the last one
//
// An early end (a failing port, silence, Ctrl-C) keeps what was measured until then: the
// measurement is marked as cut short, with the time that it lasted.
//
// The calling thread watches; the traffic runs on the worker pool's threads.
#pragma once

#include "pktgen/result/live_view.hpp"
#include "pktgen/result/result.hpp"
#include "pktgen/run/clock.hpp"
#include "pktgen/run/traffic_watchdog.hpp"
#include "pktgen/run/worker_pool.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "pktgen/transport/transport.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::pktgen::run {

/// The run cannot continue; what() includes the reason and what to do.
class RunFailed : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct Measured {
  result::Measurement measurement;
  /// Why the run cannot continue after it; empty when it can.
  std::string failure;
};

class Measuring {
public:
  /// Each rise of `interruptions` is a request to end: the first in good order, the next
  /// immediately. All arguments outlive it.
  Measuring(const scenario::Scenario& scenario, transport::Transport& transport, const Clock& clock,
            result::LiveView& view, const std::atomic<unsigned>& interruptions);

  /// `rate` is that of the traffics that `make` makes, for the record. The paused worker pool is
  /// left in `pool`, for the next measurement, which arms again whatever this one has armed, or for
  /// the caller to give up; also when it throws std::runtime_error, which it does when it ends
  /// before anything was measured.
  [[nodiscard]] Measured run(const std::string& phase, double rate,
                             const WorkerPool::MakeTraffic& make,
                             std::unique_ptr<WorkerPool>& pool);

private:
  void warm_up(WorkerPool& pool, TrafficWatchdog& watchdog);
  /// Frames that the switch has dropped since the measurement began, for the display.
  [[nodiscard]] std::optional<std::uint64_t> switch_drops() const;
  /// Waits until it is over; returns whether that is because everything was done.
  bool watch(WorkerPool& pool, TrafficWatchdog& watchdog, const std::string& phase, TimeNs begun,
             const std::vector<link::PortCounts>& before);
  /// Waits for what is in flight. Returns whether it was not interrupted.
  bool drain(WorkerPool& pool);
  /// Records the traffic of the ports and the load of the worker pool until now. Requires that the
  /// worker pool is paused.
  void take_stock(WorkerPool& pool, const std::vector<link::PortCounts>& before, TimeNs begun,
                  TimeNs ended, result::Measurement& measured) const;
  /// Calls `enough` periodically.
  template <typename Enough> void sleep_until(TimeNs end, Enough&& enough);

  const scenario::Scenario& scenario_;
  transport::Transport& transport_;
  const Clock& clock_;
  result::LiveView& view_;
  const std::atomic<unsigned>& interruptions_;
  std::vector<link::Port*> ports_;
  std::vector<link::Port*> queue_pairs_;
};

} // namespace tributary::pktgen::run
