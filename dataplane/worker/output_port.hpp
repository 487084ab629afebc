// One port's output side: its queues (dataplane/egress/port_queues.hpp), and the device of those
// queues. Belongs to the port's worker; if each worker has a transmit queue of the device, each has
// an OutputPort, too.
//
//   push --> queues by class --> [tags on] --> [impairment] --> device
//
// On a link between switches it also has the port's edge (port_edge.hpp): it takes pause frames out
// of the received ones, and sends those that the worker's accounts require, bypassing queues and
// impairment.
//
// Frames that the device does not take wait in the queues, and so do those that an impairment
// releases while the device has no room. RDMA data that finds its queue full is trimmed to its
// headers. While the link is down everything is dropped as `port_down`.
#pragma once

#include "dataplane/core/counters.hpp"
#include "dataplane/core/tracing.hpp"
#include "dataplane/egress/pause_sender.hpp"
#include "dataplane/egress/port_queues.hpp"
#include "dataplane/egress/trimming.hpp"
#include "dataplane/port/impairment_stage.hpp"
#include "dataplane/port/port_device.hpp"
#include "dataplane/worker/port_edge.hpp"
#include "dataplane/worker/trace_ring.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace tributary::worker {

/// The queues' access to a frame.
struct Mbufs {
  using Handle = rte_mbuf*;
  std::uint16_t ethertype = wire::default_ethertype; ///< of the switch

  static std::uint32_t length(const rte_mbuf* frame) { return frame->pkt_len; }
  /// Requires a buffer without other references.
  bool trim(rte_mbuf* frame) const;
  bool was_trimmed(const rte_mbuf* frame) const {
    return frame->pkt_len == egress::trimmed_frame_bytes && is_marked(frame);
  }

private:
  [[nodiscard]] bool is_marked(const rte_mbuf* frame) const;
};

/// Where trimmed frames are traced.
struct CutTrace {
  TraceRing& ring;
  const core::Tracing& tracing;
  std::uint8_t switch_index = 0;
  PortNumber port;
};

/// The device of the queues.
class OutputDevice {
public:
  /// `queue`: index among the device's transmit queues.
  OutputDevice(port::PortDevice& device, std::uint16_t queue, core::PortCounters& counters,
               PortEdge* edge, const TimeNs& now, const CutTrace& trace);
  ~OutputDevice();
  OutputDevice(const OutputDevice&) = delete;
  OutputDevice& operator=(const OutputDevice&) = delete;

  // Called by the queues.

  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count, TrafficClass c) {
    if (!up()) [[unlikely]] {
      return 0;
    }
    if (edge_ != nullptr && edge_->tags(c)) [[unlikely]] {
      return transmit_tagged(frames, count, c);
    }
    return transmit_untagged(frames, count);
  }
  std::uint16_t transmit_untagged(rte_mbuf** frames, std::uint16_t count) {
    if (impairment_) [[unlikely]] {
      return transmit_impaired(frames, count);
    }
    return device_.transmit_on(queue_, frames, count);
  }
  void drop(rte_mbuf** frames, std::uint16_t count, TrafficClass c, core::DropReason why);
  void trimmed(rte_mbuf* frame, TrafficClass c);
  void sent(std::uint16_t count, std::uint64_t bytes) {
    if (!impairment_) [[likely]] { // otherwise it is counted after the impairment
      counters_.tx_frames.add(count);
      counters_.tx_bytes.add(bytes);
    }
  }

  // Called by the port.

  [[nodiscard]] bool up() const { return !paused_ && device_.link() == port::LinkState::up; }
  /// While paused, the device is not used: it may be gone.
  void pause(bool paused) { paused_ = paused; }
  /// Bypasses queues and impairment. False: the device has no room, and the frame remains the
  /// caller's.
  bool transmit_at_once(rte_mbuf* frame) {
    return up() && device_.transmit_on(queue_, &frame, 1) == 1;
  }
  [[nodiscard]] const wire::MacAddress& mac() const { return device_.mac(); }
  /// Sends frames that an impairment has released. True: there are more.
  bool release_due();
  /// Replaces the impairment, and returns one that is finished; null: none. Without a new one the
  /// old one remains until all the frames it holds have left, which is immediately if the device
  /// has room, and is returned at the next call.
  std::unique_ptr<port::ImpairmentStage>
  exchange_impairment(std::unique_ptr<port::ImpairmentStage> stage);
  [[nodiscard]] bool impaired() const { return impairment_ != nullptr; }
  [[nodiscard]] std::size_t held() const {
    return due_count_ + (impairment_ ? impairment_->held() : 0);
  }
  /// Whether an impairment holds any frames.
  [[nodiscard]] bool holds() const { return due_count_ != 0 || next_due() != never; }
  [[nodiscard]] TimeNs next_due() const { return impairment_ ? impairment_->next_due() : never; }
  /// From now on an impairment holds no frames back.
  void hold_nothing() { holding_ = false; }

private:
  static constexpr std::uint16_t burst = 32;
  std::uint16_t transmit_tagged(rte_mbuf** frames, std::uint16_t count, TrafficClass c);
  std::uint16_t transmit_impaired(rte_mbuf** frames, std::uint16_t count);
  bool send_due();
  void retire();

  port::PortDevice& device_;
  std::uint16_t queue_;
  core::PortCounters& counters_;
  std::unique_ptr<port::ImpairmentStage> impairment_; ///< may be null
  std::unique_ptr<port::ImpairmentStage> retired_;    ///< to be returned
  PortEdge* edge_;                                    ///< may be null
  const TimeNs& now_;
  CutTrace trace_;
  bool paused_ = false;
  bool holding_ = true;
  bool retiring_ = false;       ///< the impairment releases its frames, and takes no more
  std::uint16_t due_count_ = 0; ///< number of frames that an impairment released
  std::array<rte_mbuf*, burst> due_{};
};

class alignas(64) OutputPort {
public:
  /// `queue`: index among the device's transmit queues. `accounts` may be null; `now` is the
  /// worker's time, `pool` has the buffers of copies and pause frames.
  OutputPort(port::PortDevice& device, std::uint16_t queue, core::PortCounters& counters,
             egress::IngressAccounts* accounts, rte_mempool* pool, const TimeNs& now,
             const CutTrace& trace);
  ~OutputPort() { drop_all(); }

  /// Takes the frames.
  void push(rte_mbuf* const* frames, std::uint16_t count, TrafficClass c, egress::Ingress ingress) {
    queues_.push(frames, count, c, ingress, now_, device_);
  }
  /// `bytes`: total of all frames.
  void push(rte_mbuf* const* frames, std::uint16_t count, std::uint64_t bytes, TrafficClass c,
            egress::Ingress ingress) {
    queues_.push(frames, count, bytes, c, ingress, now_, device_);
  }
  void push(rte_mbuf* frame, TrafficClass c, egress::Ingress ingress) {
    queues_.push(frame, c, ingress, now_, device_);
  }
  /// Sends what is allowed to leave and the device takes. True: call it again in the next
  /// iteration.
  bool flush() {
    const bool again = queues_.flush(now_, device_);
    if (again || impaired_) [[unlikely]] {
      return look_after();
    }
    return false;
  }

  /// Class of the agent's frames.
  [[nodiscard]] TrafficClass control_class() const { return control_class_; }

  // For ports on a link between switches.

  [[nodiscard]] bool has_edge() const { return edge_ != nullptr; }
  /// Filters received frames; returns how many are for the core, which are then the first ones.
  std::uint16_t arrive(rte_mbuf** frames, std::uint16_t count);
  /// Sends the neighbour the classes it must pause, if they changed.
  void send_pauses(ClassSet wanted);
  /// Sends without a tag, bypassing the queues. False: not sent, and the frame remains the
  /// caller's.
  bool send_untagged(rte_mbuf* frame);
  /// 0: unknown.
  void set_link_speed(std::uint32_t mbps);

  /// The next event that no frame triggers; `never` while only the device can report that it has
  /// room again.
  [[nodiscard]] TimeNs next_due() const;
  /// Classes that the neighbour has paused for too long.
  [[nodiscard]] ClassSet given_up() const { return queues_.given_up(); }
  /// Whether no frames wait, and none is held back.
  [[nodiscard]] bool empty() const { return queues_.empty() && !device_.holds(); }
  /// While paused everything is dropped as `port_down`: the device may be gone.
  void pause(bool paused) { device_.pause(paused); }
  /// As OutputDevice's. Flush the port afterwards.
  std::unique_ptr<port::ImpairmentStage>
  exchange_impairment(std::unique_ptr<port::ImpairmentStage> stage) {
    auto old = device_.exchange_impairment(std::move(stage));
    impaired_ = device_.impaired();
    return old;
  }
  [[nodiscard]] bool impaired() const { return impaired_; }
  [[nodiscard]] std::size_t impaired_held() const { return device_.held(); }
  /// At the end of the program: an impairment holds no frames back any more.
  void hold_nothing() { device_.hold_nothing(); }
  /// Drops what the device did not take in time.
  void drop_all() { queues_.link_down(core::DropReason::port_down, now_, device_); }

  /// Any thread.
  [[nodiscard]] egress::QueueSnapshot snapshot(TrafficClass c) const;

private:
  bool look_after();

  const TimeNs& now_;
  bool impaired_ = false;
  std::unique_ptr<PortEdge> edge_;
  OutputDevice device_;
  egress::PortQueues<Mbufs> queues_;
  TrafficClass control_class_;
  egress::PauseSender pauses_;
  rte_mempool* pool_;
};

} // namespace tributary::worker
