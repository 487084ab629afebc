// What a socket of the agent receives: frames that come in at one interface, of one EtherType and
// one VNI. The filter is locked: nothing replaces it for as long as the socket lives.
//
// Where the agent may load programs into the kernel (CAP_BPF), the filter also discards frames of
// trees that the program does not want, by a map that goes with the socket (lib/link/tree_map.hpp).
// Otherwise the program discards them.
#pragma once

#include "lib/net/file_descriptor.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <string>

namespace tributary::hostd {

struct Received {
  std::uint32_t interface_index = 0;
  std::uint16_t ethertype = 0;
  Vni vni{};
};

/// Attaches and locks the filter; the map of trees, or none. Throws LinkError, which names
/// `interface`.
[[nodiscard]] net::FileDescriptor attach_receive_filter(int socket, const Received& received,
                                                        const std::string& interface);

} // namespace tributary::hostd
