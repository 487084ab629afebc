// What a port changes about its network interface, and how the kernel reports changes of
// interfaces. lib/link/interface.hpp reads their state. Names are looked up in the network
// namespace of the calling thread. Control thread only.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdint>
#include <string>

namespace tributary::port {

/// A netlink socket that becomes readable when any interface of this network namespace appears,
/// disappears, or changes its carrier; non-blocking, the caller owns it. Its messages need not be
/// parsed: the kernel drops events when many occur, so only the interfaces themselves are
/// authoritative. Throws PortError.
[[nodiscard]] net::FileDescriptor open_link_events();

/// Holds an interface up and promiscuous. Promiscuous mode is a membership of our socket, so the
/// kernel revokes it even if the process is killed; the destructor sets an interface down that was
/// down before. The socket is bound to the interface, and receives nothing: the kernel unbinds it
/// when the interface goes away.
class InterfaceGuard {
public:
  /// Throws PortError if the interface does not exist or may not be changed.
  explicit InterfaceGuard(std::string name);
  ~InterfaceGuard();
  InterfaceGuard(const InterfaceGuard&) = delete;
  InterfaceGuard& operator=(const InterfaceGuard&) = delete;

  /// Whether the interface has been in this network namespace all the time. One that comes back
  /// under its name, with the same index or another one, must be reopened: the kernel has removed
  /// it from all sockets.
  [[nodiscard]] bool still_there() const;

private:
  std::string name_;
  unsigned index_ = 0;
  net::FileDescriptor socket_;
  bool was_down_ = false;
};

} // namespace tributary::port
