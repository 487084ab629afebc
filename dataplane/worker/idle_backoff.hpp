// When an idle worker should sleep, and for how long. Pure.
//
//   busy           no sleep at all
//   idle < spin    no sleep: the next frame may be near; but any other thread waiting for the
//                  processor gets it immediately, as far as the scheduler allows
//   idle < awake   sleeps of 4 us, then of 8. After each the worker offers its processor again:
//                  if another thread ran meanwhile, the next sleep is twice as long
//   idle >= awake  each sleep is twice as long as the previous one, up to the longest one
//
// and back to spinning with the first frame. This lets many switches share few cores: two busy
// pollers on one core would each lose whole time slices of the scheduler. If no other thread wants
// the processor, long sleeps between two frames save nothing, and cost the next frame the time to
// wake an idle processor, which in a virtual machine can exceed the sleep.
#pragma once

#include "dataplane/config/config.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace tributary::worker {

class IdleBackoff {
public:
  static constexpr std::uint64_t shortest_sleep_ns = 4'000;
  static constexpr std::uint64_t awake_sleep_ns = 8'000;
  /// An offer of the processor that takes this long was accepted.
  static constexpr std::uint64_t taken_ns = 3'000;

  explicit IdleBackoff(const config::Process& process)
      : adaptive_(process.poll == config::Poll::adaptive), spin_ns_(ns(process.idle_spin)),
        awake_ns_(ns(process.idle_awake)),
        longest_ns_(std::max(ns(process.idle_sleep_max), std::uint64_t{1})) {}

  /// The worker had work.
  void busy() { idle_ = false; }

  /// Whether the worker ever yields its processor.
  [[nodiscard]] bool adaptive() const { return adaptive_; }

  /// How long the processor was away after the worker offered it instead of sleeping.
  void offered(std::uint64_t gone_ns) { taken_ = gone_ns >= taken_ns; }

  /// The worker found no work: how long it should sleep, never beyond `wake_at`; 0 = offer its
  /// processor without sleeping.
  std::uint64_t sleep_ns(TimeNs now, TimeNs wake_at) {
    if (!adaptive_) {
      return 0;
    }
    if (!idle_) {
      idle_ = true;
      idle_since_ = now;
      next_ns_ = 0;
      slept_ = false;
    }
    const std::uint64_t idle = elapsed_ns(now, idle_since_);
    const bool awake = idle < awake_ns_;
    if (idle < spin_ns_ || (awake && std::exchange(slept_, false))) {
      return 0;
    }
    if (next_ns_ == 0) {
      next_ns_ = std::min(shortest_sleep_ns, longest_ns_);
    } else if (taken_ || !awake || next_ns_ < awake_sleep_ns) {
      next_ns_ = std::min(2 * next_ns_, longest_ns_);
    }
    slept_ = true;
    return std::min(next_ns_, elapsed_ns(wake_at, now));
  }

private:
  static std::uint64_t ns(std::chrono::nanoseconds d) {
    return static_cast<std::uint64_t>(d.count());
  }

  bool adaptive_;
  bool idle_ = false;
  std::uint64_t spin_ns_;
  std::uint64_t awake_ns_;
  std::uint64_t longest_ns_;
  std::uint64_t next_ns_ = 0;
  TimeNs idle_since_;
  bool slept_ = false;
  bool taken_ = false;
};

} // namespace tributary::worker
