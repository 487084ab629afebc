// What runs on a host: a program that takes frames and times and sends frames. Collective members,
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
  /// Puts a frame, without FCS, into the queue of this class: it leaves as soon as the link is free
  /// and the class is not paused.
  virtual void send(std::span<const std::byte> frame, TrafficClass c) = 0;
  void send(std::span<const std::byte> frame) { send(frame, TrafficClass{}); }
  /// Sends the switch a pause frame, ahead of all that waits.
  virtual void send_pause(const wire::PauseFrame& pause) = 0;
  /// Frames of this class that have not left yet.
  [[nodiscard]] virtual std::uint32_t waiting(TrafficClass c) const = 0;
};

class HostProgram {
public:
  virtual ~HostProgram() = default;
  /// A frame with a right FCS has arrived in this class.
  virtual void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
                       HostPort& port) = 0;
  /// The time that `next_wake` returned is reached, or something else may have changed.
  virtual void wake(TimeNs now, HostPort& port) = 0;
  /// Frames left the queues of its port.
  virtual void drained(TimeNs /*now*/, HostPort& /*port*/) {}
  /// When to wake it next, or `never`. Called after every other call.
  [[nodiscard]] virtual TimeNs next_wake() const = 0;
};

} // namespace tributary::fabric
