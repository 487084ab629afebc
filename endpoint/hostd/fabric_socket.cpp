#include "endpoint/hostd/fabric_socket.hpp"

#include "lib/link/link_error.hpp"
#include "lib/link/packet_socket.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace tributary::hostd {

namespace {

constexpr std::uint32_t everything = 0xFFFF'FFFF;

/// Offset in the frame, independent of what the kernel considers the header.
constexpr std::uint32_t at(std::size_t offset) {
  return static_cast<std::uint32_t>(SKF_LL_OFF) + static_cast<std::uint32_t>(offset);
}

/// Everything is checked in the frame, and the interface too: the program may bind the socket to
/// another one, and to every EtherType.
std::array<sock_filter, 11> only(std::uint32_t interface_index, std::uint16_t ethertype, Vni vni) {
  using namespace wire;
  constexpr std::size_t ethertype_offset = 12;
  constexpr auto index = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_IFINDEX);
  return {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, index),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, interface_index, 0, 8),
      BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ethernet_header_bytes + fabric_header_bytes, 0, 6),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at(ethertype_offset)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ethertype, 0, 4),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at(ethernet_header_bytes + portals_offset::vni)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, vni.value, 0, 2),
      // The first byte of a fabric header; hellos have another one.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at(ethernet_header_bytes + portals_offset::version_ihl)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, portals_version_ihl, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
}

template <typename T>
void set_option(const link::PacketSocket& socket, int option, const T& value, const char* doing) {
  if (::setsockopt(socket.fd(), SOL_SOCKET, option, &value, sizeof value) != 0) {
    throw link::link_error(errno, socket.interface(), doing);
  }
}

} // namespace

FabricSocket open_fabric_socket(const std::string& interface, std::uint16_t ethertype, Vni vni,
                                host_agent::Mark mark, std::size_t receive_buffer_bytes) {
  // It receives nothing before its filter is in force.
  link::PacketSocket socket(interface, std::nullopt);
  FabricSocket opened;
  opened.interface = link::interface_facts(socket.fd(), interface, "looking it up");
  if (!opened.interface.up) {
    throw link::link_error(ENETDOWN, interface, "opening it");
  }
  const auto checks = only(static_cast<std::uint32_t>(opened.interface.index), ethertype, vni);
  std::array<sock_filter, checks.size() + 1> program{};
  std::copy(checks.begin(), checks.end(), program.begin());
  program.back() = BPF_STMT(BPF_RET | BPF_K, everything);
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                          .filter = program.data()};
  set_option(socket, SO_ATTACH_FILTER, filter, "attaching the filter");
  set_option(socket, SO_LOCK_FILTER, 1, "locking the filter");
  set_option(socket, SO_MARK, mark.value, "marking the socket");
  socket.set_receive_buffer(receive_buffer_bytes);
  socket.receive(ethertype);
  struct stat status {};
  if (::fstat(socket.fd(), &status) != 0) {
    throw link::link_error(errno, interface, "asking for the socket's number");
  }
  opened.inode = status.st_ino;
  opened.descriptor = std::move(socket).release();
  return opened;
}

std::unordered_set<std::uint64_t> packet_sockets() {
  std::ifstream file("/proc/net/packet");
  std::unordered_set<std::uint64_t> inodes;
  std::string line;
  if (!std::getline(file, line)) { // the heading
    throw std::runtime_error("/proc/net/packet cannot be read; is /proc mounted?");
  }
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    std::string last;
    while (words >> word) {
      last = word; // the inode is the last column
    }
    inodes.insert(std::strtoull(last.c_str(), nullptr, 10));
  }
  return inodes;
}

} // namespace tributary::hostd
