// Our XDP program on a kernel interface: frames of one EtherType go to the AF_XDP sockets of the
// switch, everything else stays with the kernel.
//
// The program is attached as a BPF link that this process holds. When the process ends, however it
// ends, the kernel detaches it: the interface is left as it was found.
//
// DPDK's AF_XDP driver opens its sockets through libxdp, which uses a program that it finds
// attached instead of its own when that program follows libxdp's conventions (xdp/steer.bpf.c). So:
//
//   1. XdpSteering steering("eth1", 0x88B5, queues);   before the DPDK port is probed
//   2. ... the port runs ...
//   3. close the DPDK port, then destroy the steering.
//
// Main thread only.
#pragma once

#include "net/file_descriptor.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::dataplane {

enum class XdpMode : std::uint8_t {
  native,  ///< in the driver, before the kernel has made a packet of the frame
  generic, ///< behind the driver: works everywhere, slower
};

constexpr std::string_view name_of(XdpMode m) {
  return m == XdpMode::native ? "native" : "generic";
}

class XdpSteering {
public:
  /// Tries native mode first and falls back to generic, with a warning in the log. `queues` is how
  /// many receive queues the interface has. Throws PortError when another XDP program is attached,
  /// or when neither mode works.
  XdpSteering(const std::string& interface, std::uint16_t ethertype, std::uint32_t queues);
  ~XdpSteering();
  XdpSteering(const XdpSteering&) = delete;
  XdpSteering& operator=(const XdpSteering&) = delete;

  [[nodiscard]] XdpMode mode() const { return mode_; }

private:
  net::FileDescriptor link_; ///< of BPF
  XdpMode mode_ = XdpMode::native;
};

} // namespace tributary::dataplane
