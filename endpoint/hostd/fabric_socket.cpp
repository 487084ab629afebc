#include "endpoint/hostd/fabric_socket.hpp"

#include "lib/link/link_error.hpp"
#include "lib/link/packet_socket.hpp"
#include "lib/link/receive_filter.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>

namespace tributary::hostd {

namespace {

template <typename T>
void set_option(const link::PacketSocket& socket, int option, const T& value, const char* doing) {
  if (::setsockopt(socket.fd(), SOL_SOCKET, option, &value, sizeof value) != 0) {
    throw link::link_error(errno, socket.interface(), doing);
  }
}

} // namespace

FabricSocket open_fabric_socket(const std::string& interface, const FabricSocketOptions& options) {
  // It receives nothing before its filter is in force. The kernel writes the headers: it would else
  // let the program ask for checksums and segments that it makes after the guard has looked, and
  // that change any two bytes of a frame (PACKET_VNET_HDR).
  link::PacketSocket socket(interface, std::nullopt, link::PacketSocket::Header::of_kernel);
  FabricSocket opened;
  opened.interface = link::interface_facts(socket.fd(), interface, "looking it up");
  if (!opened.interface.up) {
    throw link::link_error(ENETDOWN, interface, "opening it");
  }
  link::attach_receive_filter(
      socket.fd(),
      {.interface_index = static_cast<std::uint32_t>(opened.interface.index),
       .ethertype = options.ethertype,
       .vni = options.vni,
       .end_point = options.end_point,
       .header_of_kernel = true,
       .fabric_frames_only = true},
      true, interface);
  set_option(socket, SO_MARK, options.mark.value, "marking the socket");
  if (options.receive_buffer_bytes > 0) {
    socket.set_receive_buffer(options.receive_buffer_bytes);
    socket.receive(options.ethertype);
  }
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
