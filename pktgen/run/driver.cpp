#include "pktgen/run/driver.hpp"

#include <algorithm>

namespace tributary::pktgen::run {

void Driver::receive(scenario::QueuePairIndex queue_pair, std::span<const FrameView> frames) {
  const TimeNs arrived = clock_.now();
  counts_.received += frames.size();
  for (const FrameView& frame : frames) {
    const traffic::Reception reception = traffic_.receive(queue_pair, frame, arrived);
    counts_.strangers += reception ? 0 : 1;
    if (hand_off_ != nullptr && reception.concerns != traffic::Reception::Concerns::who_has_it) {
      const HandOff::Given given = hand_off_->give(worker_, queue_pair, reception, frame, arrived);
      counts_.handed_on += given.taken;
      counts_.hand_off_drops += given.lost;
    }
  }
}

std::size_t Driver::take_over() {
  return hand_off_ == nullptr ? 0
                              : hand_off_->take(worker_, [this](scenario::QueuePairIndex queue_pair,
                                                                const FrameView& frame, TimeNs at) {
                                  traffic_.overhear(queue_pair, frame, at);
                                });
}

bool Driver::iterate(TimeNs now) {
  const std::size_t taken = take_over();
  counts_.taken_over += taken;
  bool worked = taken != 0;
  for (scenario::QueuePairIndex queue_pair = 0; queue_pair < ports_.size(); ++queue_pair) {
    if (ports_[queue_pair] == nullptr) {
      continue;
    }
    const auto frames = ports_[queue_pair]->receive();
    if (!frames.empty()) {
      worked = true;
      receive(queue_pair, frames);
    }
  }
  traffic_.generate(ports_, now);
  std::uint64_t sent = 0;
  for (link::Port* port : ports_) {
    if (port != nullptr) {
      port->flush();
      sent += port->sent_frames();
    }
  }
  worked = worked || sent != sent_;
  sent_ = sent;
  return worked;
}

bool Driver::give_up() {
  bool done = traffic_.give_up(ports_, clock_.now());
  for (link::Port* port : ports_) {
    if (port != nullptr) {
      port->flush();
      done = done && port->pending() == 0;
    }
  }
  return done;
}

void Driver::back_off(TimeNs now) const {
  const std::uint64_t until_due = elapsed_ns(traffic_.next_due(), now);
  const std::uint64_t ns = std::min(until_due, longest_sleep_ns);
  if (ns != 0) {
    const timespec pause{0, static_cast<long>(ns)};
    nanosleep(&pause, nullptr);
  }
}

} // namespace tributary::pktgen::run
