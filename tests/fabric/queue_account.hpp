// The expected behaviour of the queues of one port, and of the pauses of the ports behind them: the
// rules of docs/protocol/queues.md, implemented again in the simplest way, without the product's
// code. The fabric reports what is pushed, sent and dropped; anything that the rules do not allow
// is a violation.
//
//   a frame is sent      the first of its class, which is neither paused nor given up; trimmed ones
//                        before whole ones, until they are 2,048 bytes ahead
//   trimmed              what waits before it fills the queue, which trims
//   trimmed_full         as many trimmed ones wait as may
//   queue_full           what waits before it fills the queue
//   headroom_full        frames from its ingress port fill that port's share
//   paused_too_long      its class has been paused for the watchdog's time
//   port_down            the link is down
//   waits                as many frames and bytes as the queue says, within its bounds
//   a pause is wanted    from more than xoff on until no more than xon waits
//
// One QueueAccount for each port, one IngressAccount for all ports of a worker.
#pragma once

#include "dataplane/egress/ingress_accounts.hpp"
#include "dataplane/egress/queue_settings.hpp"
#include "dataplane/egress/queue_snapshot.hpp"
#include "tests/fabric/wire_frame.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/pause_frame.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

namespace tributary::fabric {

using PauseLimitsByClass = std::array<egress::PauseLimits, traffic_classes>;

/// Frames of lossless classes that wait in one worker's queues, by ingress port.
class IngressAccount {
public:
  explicit IngressAccount(const PauseLimitsByClass& limits) : limits_(limits) {}

  [[nodiscard]] bool has_room(PortNumber in, TrafficClass c, std::uint32_t bytes) const;
  void enter(PortNumber in, TrafficClass c, std::uint32_t bytes);
  void leave(PortNumber in, TrafficClass c, std::uint32_t bytes);
  /// Describes the differences; "" without any.
  [[nodiscard]] std::string compare(const egress::IngressAccounts& product) const;

private:
  struct Share {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    bool pause = false;
  };
  PauseLimitsByClass limits_;
  std::map<std::pair<std::uint8_t, std::uint8_t>, Share> shares_; ///< by port, by class
};

class QueueAccount {
public:
  using Notify = std::function<void(const std::string&)>;

  /// `ingress` may be null where no class is lossless.
  QueueAccount(const egress::PortSettings& settings, IngressAccount* ingress, Notify notify);

  /// `cut`: by a switch before.
  void pushed(FrameIndex frame, TrafficClass c, egress::Ingress ingress, std::uint32_t bytes,
              bool cut);
  /// The frame was trimmed to `bytes` bytes.
  void trimmed(FrameIndex frame, TrafficClass c, std::uint32_t bytes);
  void sent(FrameIndex frame, TrafficClass c, const egress::QueueSnapshot& now_is, TimeNs now);
  void dropped(FrameIndex frame, TrafficClass c, core::DropReason why, TimeNs now);
  /// Call it after each call of the queues: collected frames have left, were dropped, or wait now.
  void check_waiting(const egress::QueueSnapshot& of_class);

  void set_speed(std::uint32_t mbps) { speed_mbps_ = mbps == 0 ? 10'000 : mbps; }
  void paused(const wire::PauseFrame& pause, TimeNs now);
  /// The queues drop their frames while the link is down.
  void link_changed(bool up, TimeNs now);

  /// Frames that are in the queues.
  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] std::size_t held(TrafficClass c) const {
    return classes_[c.value].frames.size() + classes_[c.value].cut.size();
  }
  /// Compares counters with the events.
  void audit(const egress::QueueSnapshot& counted) const;

private:
  struct Frame {
    FrameIndex frame = 0;
    egress::Ingress ingress;
    std::uint32_t bytes = 0;
    bool cut = false;
    bool waits = false; ///< beyond the call that brought it
  };
  struct Class {
    std::deque<Frame> frames;
    std::deque<Frame> cut;   ///< that wait ahead of them
    std::uint64_t ahead = 0; ///< bytes of those that left before whole ones that waited
    std::uint64_t trimmed_frames = 0;
    std::uint64_t trimmed_bytes = 0;
    TimeNs paused_since;
    TimeNs paused_until;
    bool given_up = false;
    std::uint64_t sent_frames = 0;
    std::uint64_t sent_bytes = 0;
    std::array<std::uint64_t, egress::queue_drop_reasons.size()> drops{};
  };

  [[nodiscard]] const egress::ClassSettings& settings(TrafficClass c) const {
    return settings_.classes[c.value];
  }
  void watch(Class& of, TimeNs now) const;
  void make_wait(Frame& frame, TrafficClass c);
  /// Places the frames before this one first, oldest first; returns where this one is then.
  std::deque<Frame>::iterator admit_before(FrameIndex frame, TrafficClass c);
  std::deque<Frame>::iterator go_ahead(std::deque<Frame>::iterator at, TrafficClass c);
  void remove(std::deque<Frame>& frames, std::deque<Frame>::iterator at, TrafficClass c);
  [[nodiscard]] bool is_allowed(core::DropReason why, TrafficClass c, std::size_t place);

  egress::PortSettings settings_;
  IngressAccount* ingress_;
  Notify notify_;
  std::uint32_t speed_mbps_ = 10'000;
  bool up_ = true;
  std::array<Class, traffic_classes> classes_;
};

} // namespace tributary::fabric
