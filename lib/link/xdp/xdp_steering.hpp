// Our XDP program on a kernel interface: frames of one EtherType go to AF_XDP sockets, all others
// stay with the kernel.
//
// The program is attached as a BPF link that this process holds. When the process ends for any
// reason, the kernel detaches it, which restores the interface. An interface has one such program,
// and so one owner.
//
// Two kinds of owners provide the sockets:
//
//   AfXdpPort (af_xdp_port.hpp)   enters its own in `sockets_map()`, by receive queue
//   DPDK's AF_XDP driver          through libxdp, which uses an attached program instead of its
//                                 own if that follows libxdp's conventions
//                                 (steer.bpf.c)
//
// Both make the steering before their sockets, and close the sockets first. One thread.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::link::xdp {

enum class XdpMode : std::uint8_t {
  native,  ///< in the driver, before the kernel allocates a socket buffer
  generic, ///< after the driver: works everywhere, slower
};

constexpr std::string_view name_of(XdpMode m) {
  return m == XdpMode::native ? "native" : "generic";
}

/// The frames that are taken from the kernel.
struct Steered {
  std::uint16_t ethertype = 0;
  bool between_switches = false; ///< also tagged frames, and pause frames
  bool lldp = false;             ///< also those of the Link Layer Discovery Protocol
  bool everything = false;       ///< also all others: the kernel receives nothing
};

class XdpSteering {
public:
  /// Tries native mode first and falls back to generic. `queues` is the interface's number of
  /// receive queues; `otherwise` is the alternative to XDP, for messages: "use raw sockets". Throws
  /// LinkError if the interface does not exist, another XDP program is attached, a privilege is
  /// missing, or neither mode works.
  XdpSteering(const std::string& interface, const Steered& steered, std::uint32_t queues,
              const std::string& otherwise);
  ~XdpSteering();
  XdpSteering(const XdpSteering&) = delete;
  XdpSteering& operator=(const XdpSteering&) = delete;

  [[nodiscard]] XdpMode mode() const { return mode_; }
  /// Why it is not native; empty if it is.
  [[nodiscard]] const std::string& why_generic() const { return why_generic_; }
  /// The BPF map: receive queue -> AF_XDP socket.
  [[nodiscard]] int sockets_map() const { return map_.get(); }

private:
  net::FileDescriptor map_;
  net::FileDescriptor link_; ///< the BPF link
  XdpMode mode_ = XdpMode::native;
  std::string why_generic_;
};

} // namespace tributary::link::xdp
