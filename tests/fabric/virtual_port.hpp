// The sending side of one end of a link: the product's queues, with an account that watches them.
// Switches have one for each port, hosts one each.
//
//   push -> PortQueues -> flush -> Wire::take, while the link is free
//                     |-> cut to its headers, and sent ahead
//                     \-> Wire::dropped
//   pause frames of the other end -> PortQueues::pause
#pragma once

#include "dataplane/egress/port_queues.hpp"
#include "dataplane/egress/trimming.hpp"
#include "tests/fabric/queue_account.hpp"
#include "tests/fabric/wire_frame.hpp"

#include <cstdint>
#include <string>

namespace tributary::fabric {

/// Frames of the pool, as the queues see them.
struct PooledFrames {
  using Handle = FrameIndex;
  FramePool* pool = nullptr;
  [[nodiscard]] std::uint32_t length(FrameIndex frame) const {
    return static_cast<std::uint32_t>((*pool)[frame].bytes().size());
  }
  [[nodiscard]] bool trim(FrameIndex frame) const {
    const std::span<std::byte> bytes = (*pool)[frame].bytes();
    if (!egress::may_trim(bytes, length(frame), wire::default_ethertype)) {
      return false;
    }
    (*pool)[frame].shorten(wire::trim(bytes.data()));
    return true;
  }
  [[nodiscard]] bool was_trimmed(FrameIndex frame) const {
    return egress::was_trimmed((*pool)[frame].bytes(), wire::default_ethertype);
  }
};

class VirtualPort {
public:
  /// The wire that it sends to. Numbered, so that a switch can be the same one for all its ports.
  class Wire {
  public:
    virtual ~Wire() = default;
    /// Takes the frame over if it is free for one more.
    virtual bool take(std::uint32_t port, FrameIndex frame) = 0;
    /// Takes the frame over.
    virtual void dropped(std::uint32_t port, FrameIndex frame, core::DropReason why) = 0;
    virtual void violation(std::uint32_t port, const std::string& what) = 0;
  };

  /// `product` and `account` belong to the worker; null where no class is lossless.
  VirtualPort(std::uint32_t number, const egress::PortSettings& settings, FramePool& frames,
              Wire& wire, egress::IngressAccounts* product = nullptr,
              IngressAccount* account = nullptr);

  void push(FrameIndex frame, TrafficClass c, egress::Ingress ingress, TimeNs now);
  /// Sends permitted frames. Returns when to call it again if no event occurs before; `never` also
  /// while the link is busy.
  TimeNs flush(TimeNs now);
  void pause(const wire::PauseFrame& pause, TimeNs now);
  void link_changed(bool up, std::uint32_t speed_mbps, TimeNs now);

  [[nodiscard]] egress::QueueSnapshot snapshot(TrafficClass c) const { return queues_.snapshot(c); }
  /// Classes that the other end has paused for too long.
  [[nodiscard]] ClassSet given_up() const { return queues_.given_up(); }
  [[nodiscard]] std::size_t held() const { return account_.held(); }
  [[nodiscard]] std::size_t held(TrafficClass c) const { return account_.held(c); }
  void audit() const;

private:
  struct Device {
    VirtualPort& port;
    std::uint16_t transmit(FrameIndex* frames, std::uint16_t count, TrafficClass c);
    void drop(FrameIndex* frames, std::uint16_t count, TrafficClass c, core::DropReason why);
    void trimmed(FrameIndex frame, TrafficClass c);
  };
  void check_waiting();

  std::uint32_t number_;
  FramePool& frames_;
  Wire& wire_;
  QueueAccount account_;
  egress::PortQueues<PooledFrames> queues_;
  Device device_{*this};
  TimeNs now_;
};

} // namespace tributary::fabric
