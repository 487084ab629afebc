// Whether the manager that leads still runs, as a standby hears it from that manager itself. So the
// lead is free a moment after its process or machine has died, and not only when its lease ends.
//
//   watch.follow(now, lease)        another leader, or none (0)
//   watch.answered(now)             to a ping, a few times a second
//   watch.refused(now)              its machine answers that the manager is gone
//   watch.is_dead(now)              ask every `ping_ns`; true once: end its lease
//
//   refused                         it is dead: the machine runs, the process does not
//   no answer for `silence_ns`      it is dead, or as good as dead for those who need it
//
// Two things keep a standby from ending the lease of a leader that serves. A leader that has never
// answered it is not judged: a standby that cannot reach it, though it reaches etcd, waits for the
// lease. And time in which the standby itself did not run does not count as silence.
//
// A wrong judgement costs a change of leader, and nothing else.
//
// Pure.
#pragma once

#include "controlplane/election/election.hpp"
#include "tributary/types.hpp"

namespace tributary::election {

struct PeerTiming {
  std::uint64_t ping_ns = 100 * ns_per_ms;
  std::uint64_t silence_ns = 500 * ns_per_ms;
};

class PeerWatch {
public:
  explicit PeerWatch(const PeerTiming& timing = {}) : timing_(timing) {}

  void follow(TimeNs now, LeaseId lease);
  void answered(TimeNs now);
  /// The connection is refused, or another process answers there.
  void refused(TimeNs now);
  [[nodiscard]] bool is_dead(TimeNs now);
  [[nodiscard]] LeaseId lease() const { return lease_; }
  [[nodiscard]] const PeerTiming& timing() const { return timing_; }

private:
  /// Longer pauses between two calls of `is_dead` are the standby's own.
  [[nodiscard]] std::uint64_t own_pause_ns() const { return 2 * timing_.ping_ns; }

  PeerTiming timing_;
  LeaseId lease_ = 0;
  bool has_answered_ = false;
  bool is_refused_ = false;
  bool is_judged_ = false; ///< `is_dead` was true
  TimeNs heard_at_{};      ///< the last answer, or the end of an own pause
  TimeNs asked_at_{};      ///< last call of `is_dead`
};

} // namespace tributary::election
