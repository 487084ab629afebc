// Limits a turn's time for work that can be large: the rest is left to the next turn, so that
// requests and switches are served between. Pure.
#pragma once

#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/stall_detector.hpp"
#include "tributary/types.hpp"

#include <cstdint>

namespace tributary::turns {

class TurnSlice {
public:
  /// Half of a turn's limit.
  static constexpr std::uint64_t slice_ns = StallDetector::limit_ns / 2;

  explicit TurnSlice(Environment& environment) : environment_(environment) {}
  /// A turn begins.
  void begin() { began_ = environment_.now(); }
  [[nodiscard]] bool is_over() const { return elapsed_ns(environment_.now(), began_) >= slice_ns; }
  /// BackgroundWork is left: requests a turn that continues it.
  void go_on() { environment_.request_reconcile(); }

private:
  Environment& environment_;
  TimeNs began_{}; ///< in the environment's time
};

} // namespace tributary::turns
