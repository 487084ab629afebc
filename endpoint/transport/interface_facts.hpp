// What the kernel says about a network interface of the calling thread's network namespace.
#pragma once

#include "tributary/wire/ethernet.hpp"

#include <cstdint>
#include <string>

namespace tributary::transport {

struct InterfaceFacts {
  int index = 0;
  bool up = false;
  wire::MacAddress address{};
  std::uint32_t mtu = 0; ///< bytes behind the Ethernet header
};

/// Asks through any socket. Throws TransportError when there is no such interface.
[[nodiscard]] InterfaceFacts interface_facts(int socket, const std::string& interface,
                                             const std::string& doing);

/// The same with a socket of its own.
[[nodiscard]] InterfaceFacts interface_facts(const std::string& interface,
                                             const std::string& doing);

} // namespace tributary::transport
