// What the kernel says about a network interface, and what we change about it while a port uses it.
// Names are looked up in the network namespace of the calling thread. Control thread only.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::dataplane {

struct InterfaceState {
  unsigned index = 0; ///< 0 = there is no such interface
  bool up = false;
  bool running = false; ///< it has a carrier
  [[nodiscard]] bool exists() const { return index != 0; }
};

[[nodiscard]] InterfaceState interface_state(const std::string& name);
/// The kernel driver's name, e.g. "veth"; empty when it does not say.
[[nodiscard]] std::string interface_driver(const std::string& name);
/// 0 when the driver does not say.
[[nodiscard]] std::uint32_t interface_speed_mbps(const std::string& name);
/// What the kernel sends and receives behind an Ethernet header; 0 when there is no such interface.
[[nodiscard]] std::uint32_t interface_mtu(const std::string& name);
/// How many receive queues the kernel spreads an interface's frames over.
struct ReceiveQueues {
  std::uint16_t all = 1;
  std::uint16_t paired = 1; ///< with a transmit queue ("combined"): those that AF_XDP can have here
};
/// One of each when the driver does not say.
[[nodiscard]] ReceiveQueues interface_receive_queues(const std::string& name);

/// A netlink socket that becomes readable when any interface of this network namespace came, went,
/// got or lost its carrier; non-blocking, the caller owns it. What it says need not be looked at:
/// the kernel drops events when many come, so that only the interfaces themselves know. Throws
/// PortError.
[[nodiscard]] int open_link_events();

/// Holds an interface up and promiscuous. Promiscuous mode is a membership of a socket of ours, so
/// the kernel takes it back even when the process is killed; an interface that was down is set down
/// again by the destructor.
class InterfaceGuard {
public:
  /// Throws PortError when the interface does not exist or may not be changed.
  explicit InterfaceGuard(std::string name);
  ~InterfaceGuard();
  InterfaceGuard(const InterfaceGuard&) = delete;
  InterfaceGuard& operator=(const InterfaceGuard&) = delete;

  /// The index it was opened with; another one under the same name is another interface.
  [[nodiscard]] unsigned index() const { return index_; }

private:
  std::string name_;
  unsigned index_ = 0;
  int membership_ = -1;
  bool was_down_ = false;
};

} // namespace tributary::dataplane
