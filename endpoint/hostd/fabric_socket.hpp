// Makes the packet socket that a program gets, and finds out which of them live.
//
// The socket receives one VNI of one EtherType at one interface, and unicast frames of one end
// point, by a filter that cannot be removed, and sends with a mark that cannot be changed. The
// guard (endpoint/agent/guard.hpp) decides by the mark what leaves.
#pragma once

#include "endpoint/agent/job.hpp"
#include "lib/link/interface.hpp"
#include "lib/net/file_descriptor.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>

namespace tributary::hostd {

struct FabricSocket {
  net::FileDescriptor descriptor;
  std::uint64_t inode = 0; ///< names it in /proc/net/packet
  link::InterfaceFacts interface;
};

struct FabricSocketOptions {
  std::uint16_t ethertype = 0;
  Vni vni{};
  host_agent::Mark mark{};
  std::uint16_t end_point = 0;
  std::size_t receive_buffer_bytes = 0; ///< 0: it receives nothing
};

/// Throws LinkError.
[[nodiscard]] FabricSocket open_fabric_socket(const std::string& interface,
                                              const FabricSocketOptions& options);

/// The inodes of all packet sockets of this network namespace. Throws std::runtime_error.
[[nodiscard]] std::unordered_set<std::uint64_t> packet_sockets();

} // namespace tributary::hostd
