#include "controlplane/election/peer_watch.hpp"

#include <utility>

namespace tributary::election {

void PeerWatch::follow(TimeNs now, LeaseId lease) {
  if (lease != std::exchange(lease_, lease)) {
    has_answered_ = false;
    is_refused_ = false;
    is_judged_ = false;
    heard_at_ = now;
    asked_at_ = now;
  }
}

void PeerWatch::answered(TimeNs now) {
  has_answered_ = true;
  is_refused_ = false;
  heard_at_ = now;
}

void PeerWatch::refused(TimeNs /*now*/) { is_refused_ = true; }

bool PeerWatch::is_dead(TimeNs now) {
  if (elapsed_ns(now, std::exchange(asked_at_, now)) > own_pause_ns()) {
    heard_at_ = now; // answers may wait to be read
    return false;
  }
  if (lease_ == 0 || !has_answered_ || is_judged_) {
    return false;
  }
  is_judged_ = is_refused_ || elapsed_ns(now, heard_at_) > timing_.silence_ns;
  return is_judged_;
}

} // namespace tributary::election
