#include "dataplane/worker/output_port.hpp"

#include "dataplane/port/mbuf_ownership.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace tributary::worker {
namespace {

/// The part of a frame in its first buffer.
std::span<std::byte> start_of(const rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, std::byte*), frame->data_len};
}

} // namespace

bool Mbufs::trim(rte_mbuf* frame) const {
  if (rte_mbuf_refcnt_read(frame) != 1 || !RTE_MBUF_DIRECT(frame) ||
      !egress::may_trim(start_of(frame), frame->pkt_len, ethertype)) {
    return false;
  }
  const std::size_t length = wire::trim(rte_pktmbuf_mtod(frame, std::byte*));
  if (rte_mbuf* rest = std::exchange(frame->next, nullptr); rest != nullptr) {
    port::give_back(rest);
    frame->nb_segs = 1;
  }
  frame->data_len = static_cast<std::uint16_t>(length);
  frame->pkt_len = static_cast<std::uint32_t>(length);
  return true;
}

bool Mbufs::is_marked(const rte_mbuf* frame) const {
  return egress::was_trimmed(start_of(frame), ethertype);
}

OutputDevice::OutputDevice(port::PortDevice& device, std::uint16_t queue,
                           core::PortCounters& counters, PortEdge* edge, const TimeNs& now,
                           const CutTrace& trace)
    : device_(device), queue_(queue), counters_(counters), edge_(edge), now_(now), trace_(trace) {}

OutputDevice::~OutputDevice() {
  for (std::uint16_t i = 0; i < due_count_; ++i) {
    port::give_back(due_[i]);
  }
}

void OutputDevice::drop(rte_mbuf** frames, std::uint16_t count, TrafficClass /*c*/,
                        core::DropReason why) {
  counters_.drops[static_cast<std::size_t>(why)].add(count);
  std::for_each_n(frames, count, port::give_back);
}

/// Traced only with `everything`, like whole frames of bulk transfers: there are too many.
void OutputDevice::trimmed(rte_mbuf* frame, TrafficClass c) {
  if (trace_.tracing != core::Tracing::everything) {
    return;
  }
  const core::Decision decision{.action = core::Action::forward,
                                .event = core::Event::trimmed,
                                .port = trace_.port,
                                .traffic_class = c.value};
  const core::FrameView view{rte_pktmbuf_mtod(frame, std::byte*), frame->data_len};
  trace_.ring.add(now_, trace_.switch_index, trace_.port, std::span(&decision, 1),
                  std::span(&view, 1));
  trace_.ring.commit();
}

std::uint16_t OutputDevice::transmit_tagged(rte_mbuf** frames, std::uint16_t count,
                                            TrafficClass c) {
  const std::uint16_t tagged = edge_->depart(frames, count, c);
  const std::uint16_t sent = transmit_untagged(frames, tagged);
  PortEdge::take_back(frames + sent, static_cast<std::uint16_t>(tagged - sent));
  return sent;
}

std::unique_ptr<port::ImpairmentStage>
OutputDevice::exchange_impairment(std::unique_ptr<port::ImpairmentStage> stage) {
  if (!stage && impairment_) {
    retiring_ = true;
    release_due();
    return std::move(retired_);
  }
  retiring_ = false;
  if (stage && impairment_) {
    counters_.drops[static_cast<std::size_t>(core::DropReason::impaired)].add(
        stage->take_over(*impairment_));
  }
  std::swap(impairment_, stage);
  return stage ? std::move(stage) : std::move(retired_);
}

/// An impairment that holds no frames is removed from the path.
void OutputDevice::retire() {
  retired_ = std::move(impairment_);
  retiring_ = false;
}

/// Takes all of them, unless earlier frames find no room in the device.
std::uint16_t OutputDevice::transmit_impaired(rte_mbuf** frames, std::uint16_t count) {
  if (!send_due()) {
    return 0;
  }
  if (retiring_) {
    retire();
    return device_.transmit_on(queue_, frames, count);
  }
  counters_.drops[static_cast<std::size_t>(core::DropReason::impaired)].add(
      impairment_->admit(frames, count, now_));
  send_due();
  return count;
}

bool OutputDevice::release_due() {
  if (!impairment_) {
    return false; // it was retired meanwhile
  }
  if (up()) {
    send_due();
  } else {
    do {
      drop(due_.data(), std::exchange(due_count_, std::uint16_t{0}), {},
           core::DropReason::port_down);
      due_count_ = impairment_->take_due(retiring_ ? never : now_, due_.data(), burst);
    } while (due_count_ != 0);
  }
  if (retiring_ && !holds()) {
    retire();
  }
  return holds();
}

/// Sends due frames. False: the device has no more room.
bool OutputDevice::send_due() {
  for (;;) {
    if (due_count_ == 0) {
      due_count_ = impairment_->take_due(holding_ && !retiring_ ? now_ : never, due_.data(), burst);
      if (due_count_ == 0) {
        return true;
      }
    }
    std::uint64_t bytes = 0;
    std::array<std::uint32_t, burst> lengths;
    for (std::uint16_t i = 0; i < due_count_; ++i) {
      lengths[i] = due_[i]->pkt_len;
    }
    const std::uint16_t taken = device_.transmit_on(queue_, due_.data(), due_count_);
    std::for_each_n(lengths.begin(), taken, [&](std::uint32_t length) { bytes += length; });
    counters_.tx_frames.add(taken);
    counters_.tx_bytes.add(bytes);
    std::copy(due_.begin() + taken, due_.begin() + due_count_, due_.begin());
    due_count_ = static_cast<std::uint16_t>(due_count_ - taken);
    if (due_count_ != 0) {
      return false;
    }
  }
}

OutputPort::OutputPort(port::PortDevice& device, std::uint16_t queue, core::PortCounters& counters,
                       egress::IngressAccounts* accounts, rte_mempool* pool, const TimeNs& now,
                       const CutTrace& trace)
    : now_(now), edge_(device.configuration().has_edge()
                           ? std::make_unique<PortEdge>(device.configuration(), counters, pool)
                           : nullptr),
      device_(device, queue, counters, edge_.get(), now, trace),
      queues_(device.configuration().classes.queues, accounts,
              Mbufs{device.configuration().policy.ethertype}),
      control_class_(egress::control_class(device.configuration().classes.queues)), pool_(pool) {}

std::uint16_t OutputPort::arrive(rte_mbuf** frames, std::uint16_t count) {
  return edge_->arrive(frames, count,
                       [&](const wire::PauseFrame& pause) { queues_.pause(pause, now_); });
}

void OutputPort::send_pauses(ClassSet wanted) {
  if (!device_.up()) [[unlikely]] {
    pauses_.forget();
    return;
  }
  const auto pause = pauses_.due(wanted, now_);
  if (!pause) [[likely]] {
    return;
  }
  rte_mbuf* frame = port::allocate(pool_);
  if (frame == nullptr) {
    return; // and try again
  }
  frame->data_len = wire::pause_frame_bytes;
  frame->pkt_len = wire::pause_frame_bytes;
  wire::encode(*pause, device_.mac(),
               std::span<std::byte, wire::pause_frame_bytes>(rte_pktmbuf_mtod(frame, std::byte*),
                                                             wire::pause_frame_bytes));
  if (device_.transmit_at_once(frame)) {
    pauses_.sent(*pause, now_);
  } else {
    port::give_back(frame);
  }
}

bool OutputPort::send_untagged(rte_mbuf* frame) {
  const std::uint32_t length = frame->pkt_len;
  const bool sent = device_.transmit_at_once(frame);
  if (sent) {
    device_.sent(1, length);
  }
  return sent;
}

void OutputPort::set_link_speed(std::uint32_t mbps) {
  queues_.set_link_speed(mbps);
  pauses_.set_link_speed(mbps);
}

egress::QueueSnapshot OutputPort::snapshot(TrafficClass c) const {
  egress::QueueSnapshot snapshot = queues_.snapshot(c);
  snapshot.pauses_sent = pauses_.counters(c).pauses.read();
  snapshot.resumes_sent = pauses_.counters(c).resumes.read();
  return snapshot;
}

/// The cases with more to do than sending pushed frames. As `flush`.
[[gnu::noinline]] bool OutputPort::look_after() {
  if (!device_.up()) {
    drop_all();
  }
  const bool held = impaired_ && device_.release_due();
  impaired_ = device_.impaired();
  return held || !queues_.empty() || queues_.next_deadline() != never;
}

TimeNs OutputPort::next_due() const {
  const TimeNs queues = queues_.next_deadline();
  return std::min(
      {queues == TimeNs{} ? never : queues, device_.next_due(), pauses_.next_deadline()});
}

} // namespace tributary::worker
