#include "lib/link/packet_socket.hpp"

#include "lib/link/interface.hpp"
#include "lib/link/receive_filter.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

namespace tributary::link {

namespace {

template <typename T> bool set_option(int fd, int level, int option, const T& value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

} // namespace

PacketSocket::PacketSocket(const std::string& interface, const std::optional<Hearing>& hearing,
                           Header header)
    : interface_(interface), header_(header) {
  // With protocol 0 nothing is received until the socket is bound: no frame of another interface
  // slips in.
  const int type = header == Header::of_kernel ? SOCK_DGRAM : SOCK_RAW;
  socket_ = net::FileDescriptor(::socket(AF_PACKET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) {
    throw link_error(errno, interface, "opening the socket");
  }
  const InterfaceFacts facts = interface_facts(fd(), interface, "looking it up");
  address_ = facts.address;
  mtu_ = facts.mtu;
  index_ = facts.index;
  if (!hearing) {
    bind_to(facts.index, 0);
    return;
  }
  if (!facts.up) {
    throw link_error(ENETDOWN, interface, "opening it");
  }
  hear(facts.index, *hearing);
}

PacketSocket::PacketSocket(const std::string& interface, net::FileDescriptor opened)
    : interface_(interface), socket_(std::move(opened)), was_handed_over_(true) {
  const InterfaceFacts facts = interface_facts(fd(), interface, "looking it up");
  address_ = facts.address;
  mtu_ = facts.mtu;
  index_ = facts.index;
  int type = SOCK_RAW;
  socklen_t length = sizeof type;
  if (::getsockopt(fd(), SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_DGRAM) {
    header_ = Header::of_kernel;
  }
}

sockaddr_ll PacketSocket::way_out() const {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = index_;
  address.sll_halen = static_cast<unsigned char>(address_.size());
  return address;
}

void PacketSocket::receive(std::uint16_t ethertype) {
  ignore_outgoing();
  const int index = interface_facts(fd(), interface_, "looking it up").index;
  be_promiscuous(index);
  bind_to(index, ethertype);
}

void PacketSocket::ignore_outgoing() {
  if (!set_option(fd(), SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)) {
    throw link_error(errno, interface_, "ignoring outgoing frames; Linux 4.20 is needed");
  }
}

void PacketSocket::set_receive_buffer(std::size_t bytes) {
  if (was_handed_over_) {
    return;
  }
  // Beyond the system's limit only with CAP_NET_ADMIN; otherwise as much as the kernel grants.
  const auto wanted = static_cast<int>(std::min<std::size_t>(bytes, 1U << 30));
  if (!set_option(fd(), SOL_SOCKET, SO_RCVBUFFORCE, wanted)) {
    set_option(fd(), SOL_SOCKET, SO_RCVBUF, wanted);
  }
}

std::size_t PacketSocket::receive_buffer() const {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  return ::getsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &bytes, &length) == 0
             ? static_cast<std::size_t>(bytes)
             : 0;
}

void PacketSocket::filter_end_point(std::uint16_t number) {
  if (!was_handed_over_) {
    attach_receive_filter(fd(), {.end_point = number}, false, interface_);
  }
}

void PacketSocket::hear(int interface_index, const Hearing& hearing) {
  set_receive_buffer(hearing.buffer_bytes);
  ignore_outgoing();
  be_promiscuous(interface_index);
  bind_to(interface_index, hearing.ethertype);
}

void PacketSocket::be_promiscuous() {
  be_promiscuous(interface_facts(fd(), interface_, "looking it up").index);
}

void PacketSocket::be_promiscuous(int interface_index) {
  const packet_mreq membership{
      .mr_ifindex = interface_index, .mr_type = PACKET_MR_PROMISC, .mr_alen = 0, .mr_address = {}};
  if (!set_option(fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership)) {
    throw link_error(errno, interface_, "asking for promiscuous mode");
  }
}

void PacketSocket::bind_to(int interface_index, std::uint16_t ethertype) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ethertype);
  address.sll_ifindex = interface_index;
  if (::bind(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw link_error(errno, interface_, "binding to it");
  }
}

void PacketSocket::throw_unless_recovered(int error_number, const std::string& doing) const {
  if (error_number != ENETDOWN) {
    throw link_error(error_number, interface_, doing);
  }
  if (!interface_facts(fd(), interface_, doing).up) {
    throw link_error(ENETDOWN, interface_, doing);
  }
}

std::string PacketSocket::error() const {
  if (!was_handed_over_) {
    return interface_error(interface_);
  }
  try {
    return interface_facts(fd(), interface_, "looking it up").up
               ? std::string()
               : fmt::format("interface '{}' of the node is down", interface_);
  } catch (const LinkError&) {
    return fmt::format("interface '{}' of the node is gone", interface_);
  }
}

std::uint64_t PacketSocket::kernel_drops() {
  tpacket_stats statistics{};
  socklen_t length = sizeof statistics;
  // The kernel resets the counts at each read.
  if (::getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &statistics, &length) == 0) {
    kernel_drops_ += statistics.tp_drops;
  }
  return kernel_drops_;
}

} // namespace tributary::link
