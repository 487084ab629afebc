#include "lib/link/fan_out.hpp"

#include "lib/link/link_error.hpp"
#include "tributary/wire/ethernet.hpp"

#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace tributary::link {
namespace {

template <typename T>
void set(int socket, int level, int option, const T& value, const std::string& interface,
         const char* doing) {
  if (::setsockopt(socket, level, option, &value, sizeof value) != 0) {
    throw link_error(errno, interface, doing);
  }
}

template <std::size_t n> sock_fprog program(std::array<sock_filter, n>& instructions) {
  return {.len = n, .filter = instructions.data()};
}

/// Blocks all frames, and discards received ones.
void silence(int socket, const std::string& interface) {
  std::array<sock_filter, 1> nothing{{BPF_STMT(BPF_RET | BPF_K, 0)}};
  set(socket, SOL_SOCKET, SO_ATTACH_FILTER, program(nothing), interface, "silencing a socket");
  std::byte first{};
  while (::recv(socket, &first, sizeof first, MSG_DONTWAIT | MSG_TRUNC) >= 0) {
  }
}

/// Offset of a word after the Ethernet header, independent of what the kernel considers the header.
constexpr std::uint32_t word_at(std::size_t offset) {
  return static_cast<std::uint32_t>(SKF_LL_OFF) +
         static_cast<std::uint32_t>(wire::ethernet_header_bytes + offset);
}

/// The kernel takes the result modulo the number of sockets. A frame too short for the program goes
/// to the first one.
void spread_frames(int socket, const std::string& interface, const Spread& spread) {
  // The 32-bit golden ratio and the finalizer of MurmurHash3: such words differ in a few bits only.
  constexpr std::uint32_t golden = 0x9E3779B1;
  constexpr std::uint32_t mix = 0x85EBCA6B;
  std::array<sock_filter, 11> hash{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, word_at(spread.first_word)),
      BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, golden),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, word_at(spread.second_word)),
      BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16),
      BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
      BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, mix),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16),
      BPF_STMT(BPF_RET | BPF_A, 0),
  }};
  set(socket, SOL_PACKET, PACKET_FANOUT_DATA, program(hash), interface,
      "saying which of several sockets a frame is for");
}

/// Makes a group that no other process uses; returns its number.
std::uint32_t new_group(int socket, const std::string& interface) {
  constexpr char doing[] = "sharing it among several sockets";
  std::uint32_t group = (PACKET_FANOUT_CBPF | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
  set(socket, SOL_PACKET, PACKET_FANOUT, group, interface, doing);
  socklen_t length = sizeof group;
  if (::getsockopt(socket, SOL_PACKET, PACKET_FANOUT, &group, &length) != 0) {
    throw link_error(errno, interface, doing);
  }
  return group & 0xFFFFU;
}

} // namespace

void fan_out(std::span<const int> sockets, const std::string& interface, const Spread& spread) {
  // Nothing is received until all have joined: otherwise the first would get frames of the last.
  for (const int socket : sockets) {
    silence(socket, interface);
  }
  const std::uint32_t group = new_group(sockets.front(), interface);
  for (const int socket : sockets.subspan(1)) {
    set(socket, SOL_PACKET, PACKET_FANOUT, std::uint32_t{PACKET_FANOUT_CBPF << 16 | group},
        interface, "sharing it among several sockets");
  }
  spread_frames(sockets.front(), interface, spread);
  for (const int socket : sockets) {
    set(socket, SOL_SOCKET, SO_DETACH_FILTER, 0, interface, "listening");
  }
}

} // namespace tributary::link
