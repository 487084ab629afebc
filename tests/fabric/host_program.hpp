// What runs on a host: something that takes frames and times and sends frames. Collective members,
// scripted hosts of the deterministic scenarios and ill-behaved strangers are such programs.
#pragma once

#include "tests/fabric/topology.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <span>

namespace tributary::fabric {

/// A host's only port.
class HostPort {
public:
  virtual ~HostPort() = default;
  /// Puts a frame, without FCS, on the host's link now.
  virtual void send(std::span<const std::byte> frame) = 0;
};

class HostProgram {
public:
  virtual ~HostProgram() = default;
  /// A frame has come whose FCS is right.
  virtual void receive(std::span<const std::byte> frame, TimeNs now, HostPort& port) = 0;
  /// The time `next_wake` asked for has come, or something else may have changed.
  virtual void wake(TimeNs now, HostPort& port) = 0;
  /// When to wake it next, or `never`. Asked after every call.
  [[nodiscard]] virtual TimeNs next_wake() const = 0;
};

} // namespace tributary::fabric
