// The kernel's information about a network interface, and the one setting that any program may
// change. Names are looked up in the network namespace of the calling thread. Cold: each query is a
// few system calls.
//
// All queries throw LinkError if this process cannot open more sockets.
#pragma once

#include "tributary/wire/ethernet.hpp"

#include <cstdint>
#include <string>

namespace tributary::link {

/// Properties of an interface that are needed before it is opened.
struct InterfaceFacts {
  int index = 0;
  bool up = false;
  wire::MacAddress address{};
  std::uint32_t mtu = 0; ///< bytes after the Ethernet header
};

/// Queries through any socket. Throws LinkError if the interface does not exist.
[[nodiscard]] InterfaceFacts interface_facts(int socket, const std::string& interface,
                                             const std::string& doing);
/// The same with a socket of its own.
[[nodiscard]] InterfaceFacts interface_facts(const std::string& interface,
                                             const std::string& doing);

struct InterfaceState {
  unsigned index = 0; ///< 0 = the interface does not exist
  bool up = false;
  bool running = false; ///< it has a carrier
  [[nodiscard]] bool exists() const { return index != 0; }
};

[[nodiscard]] InterfaceState interface_state(const std::string& name);
/// The same as text: why no frame can pass it; empty if no reason is known.
[[nodiscard]] std::string interface_error(const std::string& name);
/// The kernel driver's name, e.g. "veth"; empty if unknown.
[[nodiscard]] std::string interface_driver(const std::string& name);
/// 0 if the driver does not report it.
[[nodiscard]] std::uint32_t interface_speed_mbps(const std::string& name);
/// Bytes after an Ethernet header that the kernel sends and receives; 0 if the interface does not
/// exist.
[[nodiscard]] std::uint32_t interface_mtu(const std::string& name);

/// Number of receive queues that the kernel spreads an interface's frames over.
struct ReceiveQueues {
  std::uint16_t all = 1;
  std::uint16_t paired = 1; ///< with a transmit queue ("combined"): those usable for AF_XDP here
};
/// One of each if the driver does not report it.
[[nodiscard]] ReceiveQueues interface_receive_queues(const std::string& name);

/// Puts an ethtool command (<linux/ethtool.h>), which the kernel fills in; returns the errno, or 0.
[[nodiscard]] int ask_ethtool(const std::string& name, void* command);

/// Sets an interface up or down; returns the errno, or 0. Needs CAP_NET_ADMIN. Does not throw.
[[nodiscard]] int set_interface_up(const std::string& name, bool up);

} // namespace tributary::link
