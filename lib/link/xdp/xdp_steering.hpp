// Our XDP program on a kernel interface: frames of one EtherType go to AF_XDP sockets, everything
// else stays with the kernel.
//
// The program is attached as a BPF link that this process holds. When the process ends, however it
// ends, the kernel detaches it: the interface is left as it was found. An interface has one such
// program, and so one owner.
//
// Two kinds of owners bring their sockets to it:
//
//   AfXdpPort (af_xdp_port.hpp)   enters them in `sockets_map()`, by receive queue
//   DPDK's AF_XDP driver          through libxdp, which uses a program that it finds attached
//                                 instead of its own when that follows libxdp's conventions
//                                 (steer.bpf.c)
//
// Either makes the steering before its sockets, and closes these first. One thread.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::link::xdp {

enum class XdpMode : std::uint8_t {
  native,  ///< in the driver, before the kernel has made a packet of the frame
  generic, ///< behind the driver: works everywhere, slower
};

constexpr std::string_view name_of(XdpMode m) {
  return m == XdpMode::native ? "native" : "generic";
}

/// Which frames are taken from the kernel.
struct Steered {
  std::uint16_t ethertype = 0;
  bool between_switches = false; ///< also tagged ones, and pause frames
  bool lldp = false;             ///< also those of the Link Layer Discovery Protocol
  bool everything = false;       ///< and all others: the kernel gets nothing any more
};

class XdpSteering {
public:
  /// Tries native mode first and falls back to generic. `queues` is how many receive queues the
  /// interface has; `otherwise` is what to do without XDP, for a person: "use raw sockets". Throws
  /// LinkError when there is no such interface, another XDP program is attached, a privilege is
  /// missing, or neither mode works.
  XdpSteering(const std::string& interface, const Steered& steered, std::uint32_t queues,
              const std::string& otherwise);
  ~XdpSteering();
  XdpSteering(const XdpSteering&) = delete;
  XdpSteering& operator=(const XdpSteering&) = delete;

  [[nodiscard]] XdpMode mode() const { return mode_; }
  /// Why it is not native; empty when it is.
  [[nodiscard]] const std::string& why_generic() const { return why_generic_; }
  /// The BPF map: receive queue -> AF_XDP socket.
  [[nodiscard]] int sockets_map() const { return map_.get(); }

private:
  net::FileDescriptor map_;
  net::FileDescriptor link_; ///< of BPF
  XdpMode mode_ = XdpMode::native;
  std::string why_generic_;
};

} // namespace tributary::link::xdp
