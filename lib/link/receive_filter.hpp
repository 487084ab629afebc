// What the kernel passes to a packet socket: a filter of classic BPF on the frame itself, so that a
// program on a host of many is not woken, and does not pay, for the frames of the others.
//
// Multicast frames pass, and unicast frames of one end point. A socket of the host agent is made to
// receive nothing else than one VNI of one EtherType at one interface, and its filter is locked.
#pragma once

#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <linux/filter.h>

namespace tributary::link {

struct Received {
  std::optional<std::uint32_t> interface_index{}; ///< empty: any
  std::optional<std::uint16_t> ethertype{};       ///< likewise
  std::optional<Vni> vni{};                       ///< likewise
  std::uint16_t end_point = 0;                    ///< of unicast frames
  /// The socket leaves Ethernet headers to the kernel: frames begin with what follows them.
  bool header_of_kernel = false;
  /// Frames without a fabric header, such as hellos, pass unless this is set.
  bool fabric_frames_only = false;
};

/// The filter as a program of the kernel's.
[[nodiscard]] std::vector<sock_filter> filter_program(const Received& received);

/// Attaches it, and locks it if `locks`: then nothing replaces it for as long as the socket lives.
/// Throws LinkError, which names `interface`.
void attach_receive_filter(int socket, const Received& received, bool locks,
                           const std::string& interface);

} // namespace tributary::link
