// What a socket of the agent receives: frames that come in at one interface, of one EtherType and
// one VNI. The filter is locked: nothing replaces it for as long as the socket lives.
#pragma once

#include "tributary/types.hpp"

#include <cstdint>
#include <string>

namespace tributary::hostd {

struct Received {
  std::uint32_t interface_index = 0;
  std::uint16_t ethertype = 0;
  Vni vni{};
};

/// Attaches and locks the filter. Throws LinkError, which names `interface`.
void attach_receive_filter(int socket, const Received& received, const std::string& interface);

} // namespace tributary::hostd
