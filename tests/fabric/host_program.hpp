// What runs on a host: something that takes frames and times and sends frames. Collective members,
// scripted hosts of the deterministic scenarios and ill-behaved strangers are such programs.
#pragma once

#include "tests/fabric/topology.hpp"
#include "tributary/traffic_class.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/pause_frame.hpp"

#include <cstddef>
#include <span>

namespace tributary::fabric {

/// A host's only port.
class HostPort {
public:
  virtual ~HostPort() = default;
  /// Gives a frame, without FCS, to the queue of this class: it leaves as soon as the link is free
  /// for it and the switch lets the class go.
  virtual void send(std::span<const std::byte> frame, TrafficClass c) = 0;
  void send(std::span<const std::byte> frame) { send(frame, TrafficClass{}); }
  /// Tells the switch to pause, ahead of all that waits.
  virtual void send_pause(const wire::PauseFrame& pause) = 0;
  /// Frames of this class that have not left yet.
  [[nodiscard]] virtual std::uint32_t waiting(TrafficClass c) const = 0;
};

class HostProgram {
public:
  virtual ~HostProgram() = default;
  /// A frame has come whose FCS is right, in this class.
  virtual void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
                       HostPort& port) = 0;
  /// The time `next_wake` asked for has come, or something else may have changed.
  virtual void wake(TimeNs now, HostPort& port) = 0;
  /// Frames left the queues of its port.
  virtual void drained(TimeNs /*now*/, HostPort& /*port*/) {}
  /// When to wake it next, or `never`. Asked after every call.
  [[nodiscard]] virtual TimeNs next_wake() const = 0;
};

} // namespace tributary::fabric
