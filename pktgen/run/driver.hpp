// The main loop of one worker: passes received frames from its ports (one queue pair each) to a
// traffic, and sends the traffic's frames, on one thread, until its caller's condition holds.
//
//   Driver driver(traffic, ports, clock, busy);
//   driver.run_until([&](TimeNs now) { return now >= end; });
//
// One iteration looks at what other workers handed over and at every port, lets the traffic compose
// what is due, and flushes. The clock is read once an iteration and once for each burst received:
// that is the resolution of latencies. When idle it keeps polling if `busy`; otherwise it sleeps
// briefly, never past what is due. A frame that arrives meanwhile is noticed up to
// `longest_sleep_ns` late.
#pragma once

#include "pktgen/run/clock.hpp"
#include "pktgen/run/hand_off.hpp"
#include "pktgen/traffic/traffic.hpp"
#include "pktgen/transport/port.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <vector>

namespace tributary::pktgen::run {

/// What the driver did since it was made, or since `reset`.
struct DriverCounts {
  std::uint64_t iterations = 0;
  std::uint64_t cycles = 0;         ///< in all
  std::uint64_t busy_cycles = 0;    ///< in iterations that received or sent something
  std::uint64_t received = 0;       ///< frames
  std::uint64_t strangers = 0;      ///< frames that were not the traffic's
  std::uint64_t handed_on = 0;      ///< frames, to each other worker
  std::uint64_t taken_over = 0;     ///< frames, from other workers
  std::uint64_t hand_off_drops = 0; ///< frames that another worker had no room for
  TimeNs active_at;                 ///< the last time that something was received or sent
  DriverCounts& operator+=(const DriverCounts& other) {
    iterations += other.iterations;
    cycles += other.cycles;
    busy_cycles += other.busy_cycles;
    received += other.received;
    strangers += other.strangers;
    handed_on += other.handed_on;
    taken_over += other.taken_over;
    hand_off_drops += other.hand_off_drops;
    active_at = std::max(active_at, other.active_at);
    return *this;
  }
};

class Driver {
public:
  static constexpr std::uint64_t spin_ns = 50'000;
  static constexpr std::uint64_t longest_sleep_ns = 50'000;

  /// `ports` by QueuePairIndex; a null port belongs to another worker. `hand_off` is shared with
  /// the others, of which this is the `worker`-th; null where nothing is shared.
  Driver(traffic::Traffic& traffic, std::vector<link::Port*> ports, const Clock& clock, bool busy,
         HandOff* hand_off = nullptr, std::size_t worker = 0)
      : traffic_(traffic), ports_(std::move(ports)), clock_(clock), busy_(busy),
        hand_off_(hand_off), worker_(worker) {}

  /// Runs until `done(now)`, which is called once an iteration.
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
        active = counts_.active_at = now;
      } else if (!busy_ && elapsed_ns(now, active) >= spin_ns) {
        back_off(now);
      }
    }
  }

  /// Gives the traffic up (traffic.hpp). False as long as ports take no more: call it again.
  [[nodiscard]] bool give_up();

  [[nodiscard]] const DriverCounts& counts() const { return counts_; }
  void reset() { counts_ = {}; }

private:
  bool iterate(TimeNs now);
  void receive(scenario::QueuePairIndex queue_pair, std::span<const FrameView> frames);
  std::size_t take_over();
  void back_off(TimeNs now) const;

  traffic::Traffic& traffic_;
  std::vector<link::Port*> ports_;
  const Clock& clock_;
  bool busy_;
  HandOff* hand_off_;
  std::size_t worker_;
  std::uint64_t sent_ = 0; ///< frames out of all ports, as of the last iteration
  DriverCounts counts_;
};

} // namespace tributary::pktgen::run
