#include "dataplane/worker/output_queue.hpp"

#include "dataplane/port/mbuf_ownership.hpp"

namespace tributary::dataplane {

void OutputQueue::flush_impaired(TimeNs now) {
  const std::uint32_t lost = impairment_->admit(frames_.data(), count_, now);
  counters_.ports[number_.value].drops[static_cast<std::size_t>(core::DropReason::impaired)].add(
      lost);
  while ((count_ = impairment_->take_due(now, frames_.data(), capacity)) != 0) {
    send();
  }
}

void OutputQueue::send() {
  // What the core did not decide about, the agent's own frames and those that were on their way
  // from another worker or held back by an impairment, may find the port down by now.
  if (paused_ || device_.link() != LinkState::up) [[unlikely]] {
    drop(0, core::DropReason::port_down);
    return;
  }
  std::uint64_t bytes = 0;
  for (std::uint16_t i = 0; i < count_; ++i) {
    bytes += frames_[i]->pkt_len;
  }
  std::uint16_t sent = device_.transmit(frames_.data(), count_);
  if (sent < count_) [[unlikely]] {
    // Drivers collect what they have sent before when they are called: once more may succeed.
    sent = static_cast<std::uint16_t>(
        sent + device_.transmit(frames_.data() + sent, static_cast<std::uint16_t>(count_ - sent)));
    for (std::uint16_t i = sent; i < count_; ++i) {
      bytes -= frames_[i]->pkt_len;
    }
  }
  core::PortCounters& port = counters_.ports[number_.value];
  port.tx_frames.add(sent);
  port.tx_bytes.add(bytes);
  drop(sent, core::DropReason::transmit_full);
}

void OutputQueue::drop(std::uint16_t from, core::DropReason reason) {
  for (std::uint16_t i = from; i < count_; ++i) {
    counters_.drop(number_, reason);
    give_back(frames_[i]);
  }
  count_ = 0;
}

} // namespace tributary::dataplane
