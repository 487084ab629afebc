// Notices a peer that does not answer, or has stopped to: nothing comes in on any port, though
// somebody waits for it.
//
//   TrafficWatchdog watchdog(scenario, ports, now);
//   watchdog.check(pool, now);           now and then
//
// Whatever comes in ends the silence. A switch that loses much is not silent; nor is one from which
// nothing is expected, nor a traffic that holds itself back.
#pragma once

#include "pktgen/run/worker_pool.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::pktgen::run {

/// How long nothing may come in while a scenario runs and all is well: the time-out, and what it
/// holds back by its own will (rate, skew, lateness, retries).
[[nodiscard]] std::uint64_t longest_silence_ns(const scenario::Scenario& scenario);

class TrafficWatchdog {
public:
  /// From `now` on. `ports` outlive it.
  TrafficWatchdog(const scenario::Scenario& scenario, const std::vector<link::Port*>& ports,
                  TimeNs now);

  /// Throws RunFailed when it has lasted too long: who waits, for how long, what to look at.
  void check(WorkerPool& pool, TimeNs now);

private:
  [[noreturn]] void complain(const std::string& waiting, double seconds) const;

  const std::vector<link::Port*>& ports_;
  std::uint64_t longest_ns_;
  TimeNs next_; ///< when it listens again
  TimeNs since_;
  std::uint64_t received_ = 0; ///< frames, as of the last time; what matters is that it changes
  bool answered_ = false;      ///< ever
};

} // namespace tributary::pktgen::run
