// Detects a peer that does not answer, or no longer does: no frame arrives on any port although a
// host waits for one.
//
//   TrafficWatchdog watchdog(scenario, ports, now);
//   watchdog.check(pool, now); now and then
//
// Any received frame ends the silence. A switch that loses many frames is not silent; nor is one
// from which no frame is expected, nor a traffic that limits itself.
#pragma once

#include "pktgen/run/worker_pool.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::pktgen::run {

/// Longest silence of a healthy run of a scenario: the time-out, plus the scenario's own delays
/// (rate, skew, lateness, retries).
[[nodiscard]] std::uint64_t longest_silence_ns(const scenario::Scenario& scenario);

class TrafficWatchdog {
public:
  /// From `now` on. `ports` outlive it.
  TrafficWatchdog(const scenario::Scenario& scenario, const std::vector<link::Port*>& ports,
                  TimeNs now);

  /// Throws RunFailed when the silence has lasted too long: who waits, for how long, what to check.
  void check(WorkerPool& pool, TimeNs now);

private:
  [[noreturn]] void complain(const std::string& waiting, double seconds) const;

  const std::vector<link::Port*>& ports_;
  std::uint64_t longest_ns_;
  TimeNs next_; ///< when it checks again
  TimeNs since_;
  std::uint64_t received_ = 0; ///< frames, as of the last check; only a change matters
  bool answered_ = false;      ///< ever
};

} // namespace tributary::pktgen::run
