// What the kernel says about a network interface, and the one thing everybody may change about it.
// Names are looked up in the network namespace of the calling thread. Cold: each question is a few
// system calls.
//
// All that ask throw LinkError when this process can open no more sockets to ask with.
#pragma once

#include "tributary/wire/ethernet.hpp"

#include <cstdint>
#include <string>

namespace tributary::link {

/// What there is to know of an interface before it is opened.
struct InterfaceFacts {
  int index = 0;
  bool up = false;
  wire::MacAddress address{};
  std::uint32_t mtu = 0; ///< bytes behind the Ethernet header
};

/// Asks through any socket. Throws LinkError when there is no such interface.
[[nodiscard]] InterfaceFacts interface_facts(int socket, const std::string& interface,
                                             const std::string& doing);
/// The same with a socket of its own.
[[nodiscard]] InterfaceFacts interface_facts(const std::string& interface,
                                             const std::string& doing);

struct InterfaceState {
  unsigned index = 0; ///< 0 = there is no such interface
  bool up = false;
  bool running = false; ///< it has a carrier
  [[nodiscard]] bool exists() const { return index != 0; }
};

[[nodiscard]] InterfaceState interface_state(const std::string& name);
/// The same for a person: why nothing can get through it; empty when nothing speaks against it.
[[nodiscard]] std::string interface_error(const std::string& name);
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

/// Sets an interface up or down; the errno, or 0. Needs CAP_NET_ADMIN. Does not throw.
[[nodiscard]] int set_interface_up(const std::string& name, bool up);

} // namespace tributary::link
