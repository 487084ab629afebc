// Turns the crank: takes frames from ports to a traffic and the traffic's frames to ports, on one
// thread, until it is told that enough is enough.
//
//   Driver driver(traffic, ports, clock, busy);
//   driver.run_until([&](TimeNs now) { return now >= end; });
//
// One iteration looks at every port, lets the traffic compose what is due, and flushes. The clock
// is read once an iteration and once for each burst received: that is the resolution of latencies.
// With nothing to do it goes on polling when `busy`, and otherwise sleeps a little at a time, never
// past what is due; a frame that comes in its sleep is noticed up to `longest_sleep_ns` late.
#pragma once

#include "pktgen/run/clock.hpp"
#include "pktgen/traffic/traffic.hpp"
#include "pktgen/transport/port.hpp"

#include <cstdint>
#include <ctime>
#include <vector>

namespace tributary::pktgen {

/// What the driver did since it was made, or since `reset`.
struct DriverCounts {
  std::uint64_t iterations = 0;
  std::uint64_t cycles = 0;      ///< in all
  std::uint64_t busy_cycles = 0; ///< in iterations that received or sent something
  std::uint64_t received = 0;    ///< frames
  std::uint64_t strangers = 0;   ///< frames that were not the traffic's
  DriverCounts& operator+=(const DriverCounts& other) {
    iterations += other.iterations;
    cycles += other.cycles;
    busy_cycles += other.busy_cycles;
    received += other.received;
    strangers += other.strangers;
    return *this;
  }
};

class Driver {
public:
  static constexpr std::uint64_t spin_ns = 50'000;
  static constexpr std::uint64_t longest_sleep_ns = 50'000;

  /// A port that is null is another worker's.
  Driver(Traffic& traffic, std::vector<Port*> ports, const Clock& clock, bool busy)
      : traffic_(traffic), ports_(std::move(ports)), clock_(clock), busy_(busy) {}

  /// Until `done(now)`, which is asked once an iteration.
  template <typename Done> void run_until(Done&& done) {
    std::uint64_t begun = clock_.cycles();
    TimeNs now = clock_.at(begun);
    TimeNs active = now;
    while (!done(now)) {
      const bool worked = iterate(now);
      const std::uint64_t ended = clock_.cycles();
      counts_.busy_cycles += worked ? ended - begun : 0;
      counts_.cycles += ended - begun;
      ++counts_.iterations;
      begun = ended;
      now = clock_.at(ended);
      if (worked) {
        active = now;
      } else if (!busy_ && elapsed_ns(now, active) >= spin_ns) {
        rest(now);
      }
    }
  }

  [[nodiscard]] const DriverCounts& counts() const { return counts_; }
  void reset() { counts_ = {}; }

private:
  bool iterate(TimeNs now);
  void rest(TimeNs now) const;

  Traffic& traffic_;
  std::vector<Port*> ports_;
  const Clock& clock_;
  bool busy_;
  std::uint64_t sent_ = 0; ///< frames out of all ports, as of the last iteration
  DriverCounts counts_;
};

} // namespace tributary::pktgen
