// When a worker that finds nothing to do should sleep, and for how long. Pure.
//
//   busy            no sleep at all
//   idle < spin     no sleep: the next frame may be near; but whoever else waits for the processor
//                   gets it at once, as long as the scheduler lets him
//   idle >= spin    sleeps of 4 us, 8 us, ... up to the longest one; back to spinning with the
//                   first frame
//
// Many switches share few cores this way: two busy pollers on one core would each lose whole time
// slices of the scheduler.
#pragma once

#include "dataplane/config/config.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tributary::worker {

class IdleBackoff {
public:
  static constexpr std::uint64_t shortest_sleep_ns = 4'000;

  explicit IdleBackoff(const config::Process& process)
      : adaptive_(process.poll == config::Poll::adaptive), spin_ns_(ns(process.idle_spin)),
        longest_ns_(std::max(ns(process.idle_sleep_max), std::uint64_t{1})) {}

  /// The worker did something.
  void busy() { idle_ = false; }

  /// Whether the worker ever lets others have its processor.
  [[nodiscard]] bool adaptive() const { return adaptive_; }

  /// The worker found nothing: how long it should sleep, 0 = not at all. Never beyond `wake_at`.
  std::uint64_t sleep_ns(TimeNs now, TimeNs wake_at) {
    if (!adaptive_) {
      return 0;
    }
    if (!idle_) {
      idle_ = true;
      idle_since_ = now;
      next_ns_ = std::min(shortest_sleep_ns, longest_ns_);
    }
    if (elapsed_ns(now, idle_since_) < spin_ns_) {
      return 0;
    }
    const std::uint64_t sleep = std::min(next_ns_, elapsed_ns(wake_at, now));
    next_ns_ = std::min(2 * next_ns_, longest_ns_);
    return sleep;
  }

private:
  static std::uint64_t ns(std::chrono::nanoseconds d) {
    return static_cast<std::uint64_t>(d.count());
  }

  bool adaptive_;
  bool idle_ = false;
  std::uint64_t spin_ns_;
  std::uint64_t longest_ns_;
  std::uint64_t next_ns_ = shortest_sleep_ns;
  TimeNs idle_since_;
};

} // namespace tributary::worker
