// One run of an experiment, and its result.
#pragma once

#include "tools/simulator/engine/counters.hpp"
#include "tools/simulator/experiment/prepared.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tributary::simulator::experiment {

enum class Verdict : std::uint8_t {
  complete,
  saturated,   ///< complete, but hosts fell behind: latencies depend on how long the run is
  deadlock,    ///< packets wait for each other in a cycle, forever
  no_progress, ///< nothing moved between two looks of the watchdog, and no cycle was found
  goes_round,  ///< a packet crossed more links than any legal route has
};
[[nodiscard]] std::string_view name(Verdict verdict);
/// Whether it reached its end, and the watchdog did not end it.
[[nodiscard]] constexpr bool is_whole(Verdict verdict) {
  return verdict == Verdict::complete || verdict == Verdict::saturated;
}

/// Nanoseconds.
struct LatencySummary {
  std::uint64_t count = 0;
  double mean = 0;
  double min = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

struct LinkLoad {
  std::uint32_t link = 0; ///< link of the network
  double load = 0;        ///< share of the measured time that it carried flits
};

struct Result {
  double load = 0;     ///< offered, flits a tick of a sender
  double accepted = 0; ///< delivered, flits a tick of a sender
  std::uint32_t senders = 0;
  std::uint64_t ticks = 0; ///< simulated in all
  std::uint64_t measured = 0;
  Verdict verdict = Verdict::complete;
  std::uint64_t stuck_buffers = 0;
  std::vector<std::string> circle; ///< channels, each waits for the next: "leaf0.1 port 3 vc 0"
  engine::Counters all;            ///< over the whole run
  std::uint64_t in_flight = 0;     ///< at its end
  LatencySummary latency;          ///< from creation, with the wait in the host
  LatencySummary network_latency;  ///< from when the host began to send
  std::vector<LinkLoad> links;     ///< links of the network that are up at the beginning
  double mean_link_load = 0;
  double hottest_link_load = 0;
};

/// Called with the share that is done, 0 to 1; returns whether to continue.
using Progress = std::function<bool(double share)>;

/// Throws TrafficError for a pattern that this fabric does not support. The same prepared, load and
/// seed give the same result.
[[nodiscard]] Result run(const Prepared& prepared, double load, std::uint64_t seed,
                         const Progress& progress);

} // namespace tributary::simulator::experiment
