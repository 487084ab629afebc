#include "endpoint/hostd/receive_filter.hpp"

#include "lib/link/link_error.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"

#include <array>
#include <cerrno>
#include <cstddef>

#include <linux/filter.h>
#include <sys/socket.h>

namespace tributary::hostd {

namespace {

constexpr std::size_t ethertype_offset = 12;
/// Length of a frame without its Ethernet header, which the socket leaves to the kernel.
constexpr std::size_t shortest = wire::fabric_header_bytes;
constexpr std::uint32_t everything = 0xFFFF'FFFF;

/// Offset in the Ethernet header.
constexpr std::uint32_t at(std::size_t offset) {
  return static_cast<std::uint32_t>(SKF_LL_OFF) + static_cast<std::uint32_t>(offset);
}

/// Offset in the fabric header, with which frames begin for a socket that leaves the Ethernet
/// header to the kernel. Relative to the latter, fields beyond a long frame's first piece would not
/// be found.
constexpr std::uint32_t at_fabric(std::size_t offset) { return static_cast<std::uint32_t>(offset); }

/// Everything is checked in the frame, and the interface too: the program may bind the socket to
/// another one, and to every EtherType.
std::array<sock_filter, 12> program_for(const Received& received) {
  constexpr auto index = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_IFINDEX);
  return {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, index),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, received.interface_index, 0, 8),
      BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, shortest, 0, 6),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at(ethertype_offset)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, received.ethertype, 0, 4),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at_fabric(wire::portals_offset::vni)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, received.vni.value, 0, 2),
      // The first byte of a fabric header; hellos have another one.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at_fabric(wire::portals_offset::version_ihl)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire::portals_version_ihl, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, everything),
  }};
}

template <typename T> bool set_option(int socket, int option, const T& value) {
  return ::setsockopt(socket, SOL_SOCKET, option, &value, sizeof value) == 0;
}

} // namespace

void attach_receive_filter(int socket, const Received& received, const std::string& interface) {
  auto program = program_for(received);
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                          .filter = program.data()};
  if (!set_option(socket, SO_ATTACH_FILTER, filter)) {
    throw link::link_error(errno, interface, "attaching the filter");
  }
  if (!set_option(socket, SO_LOCK_FILTER, 1)) {
    throw link::link_error(errno, interface, "locking the filter");
  }
}

} // namespace tributary::hostd
