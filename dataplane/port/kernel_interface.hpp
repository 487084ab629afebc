// What a port changes about the network interface it uses, and how the kernel tells that one of
// them changed. What it says about them is asked in lib/link/interface.hpp. Names are looked up in the
// network namespace of the calling thread. Control thread only.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdint>
#include <string>

namespace tributary::port {

/// A netlink socket that becomes readable when any interface of this network namespace came, went,
/// got or lost its carrier; non-blocking, the caller owns it. What it says need not be looked at:
/// the kernel drops events when many come, so that only the interfaces themselves know. Throws
/// PortError.
[[nodiscard]] net::FileDescriptor open_link_events();

/// Holds an interface up and promiscuous. Promiscuous mode is a membership of a socket of ours, so
/// the kernel takes it back even when the process is killed; an interface that was down is set down
/// again by the destructor. The socket is bound to the interface, and receives nothing: the kernel
/// unbinds it when the interface goes away.
class InterfaceGuard {
public:
  /// Throws PortError when the interface does not exist or may not be changed.
  explicit InterfaceGuard(std::string name);
  ~InterfaceGuard();
  InterfaceGuard(const InterfaceGuard&) = delete;
  InterfaceGuard& operator=(const InterfaceGuard&) = delete;

  /// Whether the interface has been in this network namespace all the time. One that comes back
  /// under its name, with the same index or another one, is to be opened again: the kernel has
  /// taken it from all sockets.
  [[nodiscard]] bool still_there() const;

private:
  std::string name_;
  unsigned index_ = 0;
  net::FileDescriptor socket_;
  bool was_down_ = false;
};

} // namespace tributary::port
