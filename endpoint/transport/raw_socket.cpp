#include "endpoint/transport/raw_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace tributary::transport {

namespace {

template <typename T> bool set_option(int fd, int level, int option, const T& value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

ifreq request_for(const std::string& interface) {
  ifreq request{};
  std::memcpy(request.ifr_name, interface.c_str(), interface.size() + 1);
  return request;
}

} // namespace

RawSocket::RawSocket(const std::string& interface, std::uint16_t ethertype,
                     std::size_t buffer_bytes)
    : interface_(interface) {
  if (interface.empty() || interface.size() >= IFNAMSIZ) {
    throw transport_error(ENODEV, interface, "looking it up");
  }
  // Protocol 0 hears nothing until the socket is bound: no frame of another interface slips in.
  socket_ = FileDescriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd() < 0) {
    throw transport_error(errno, interface, "opening the socket");
  }
  ifreq request = request_for(interface);
  if (::ioctl(fd(), SIOCGIFINDEX, &request) != 0) {
    throw transport_error(errno, interface, "looking it up");
  }
  const auto index = static_cast<unsigned>(request.ifr_ifindex);
  if (::ioctl(fd(), SIOCGIFFLAGS, &request) != 0) {
    throw transport_error(errno, interface, "asking whether it is up");
  }
  if ((request.ifr_flags & IFF_UP) == 0) {
    throw transport_error(ENETDOWN, interface, "opening it");
  }
  if (::ioctl(fd(), SIOCGIFHWADDR, &request) != 0) {
    throw transport_error(errno, interface, "asking for its address");
  }
  std::memcpy(address_.data(), request.ifr_hwaddr.sa_data, address_.size());

  // Beyond the system's limit only with CAP_NET_ADMIN; otherwise as much as it gives.
  const auto bytes = static_cast<int>(std::min<std::size_t>(buffer_bytes, 1U << 30));
  if (!set_option(fd(), SOL_SOCKET, SO_RCVBUFFORCE, bytes)) {
    set_option(fd(), SOL_SOCKET, SO_RCVBUF, bytes);
  }
  if (!set_option(fd(), SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)) {
    throw transport_error(errno, interface, "ignoring outgoing frames; Linux 4.20 is needed");
  }
  bind_to(index, ethertype);

  for (std::size_t i = 0; i < batch; ++i) {
    receive_vectors_[i] = {.iov_base = received_[i].data(), .iov_len = frame_room};
    receive_headers_[i].msg_hdr.msg_iov = &receive_vectors_[i];
    receive_headers_[i].msg_hdr.msg_iovlen = 1;
    send_headers_[i].msg_hdr.msg_iov = &send_vectors_[i];
    send_headers_[i].msg_hdr.msg_iovlen = 1;
  }
}

void RawSocket::bind_to(unsigned interface_index, std::uint16_t ethertype) {
  const packet_mreq membership{.mr_ifindex = static_cast<int>(interface_index),
                               .mr_type = PACKET_MR_PROMISC,
                               .mr_alen = 0,
                               .mr_address = {}};
  if (!set_option(fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership)) {
    throw transport_error(errno, interface_, "asking for promiscuous mode");
  }
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ethertype);
  address.sll_ifindex = static_cast<int>(interface_index);
  if (::bind(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw transport_error(errno, interface_, "binding to it");
  }
}

std::size_t RawSocket::receive_batch() {
  int count = -1;
  while (count < 0) {
    count = ::recvmmsg(fd(), receive_headers_.data(), batch, MSG_DONTWAIT, nullptr);
    if (count >= 0 || errno == EINTR) {
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    }
    throw_unless_recovered(errno, "receiving");
  }
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    lengths_[at] = receive_headers_[at].msg_len;
  }
  return static_cast<std::size_t>(count);
}

void RawSocket::send(collective::Outbox& outbox) {
  while (!outbox.empty()) {
    const std::size_t wanted = std::min(outbox.size(), batch);
    for (std::size_t i = 0; i < wanted; ++i) {
      // sendmmsg does not write to what it sends, though its interface cannot say so.
      send_vectors_[i] = {.iov_base = const_cast<std::byte*>(outbox[i].data()),
                          .iov_len = outbox[i].size()};
    }
    const int sent =
        ::sendmmsg(fd(), send_headers_.data(), static_cast<unsigned>(wanted), MSG_DONTWAIT);
    if (sent >= 0) {
      outbox.pop(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      return;
    }
    if (errno != EINTR) {
      throw_unless_recovered(errno, "sending");
    }
  }
}

void RawSocket::throw_unless_recovered(int error_number, const std::string& doing) const {
  if (error_number != ENETDOWN) {
    throw transport_error(error_number, interface_, doing);
  }
  ifreq request = request_for(interface_);
  if (::ioctl(fd(), SIOCGIFFLAGS, &request) != 0) {
    throw transport_error(errno, interface_, doing);
  }
  if ((request.ifr_flags & IFF_UP) == 0) {
    throw transport_error(ENETDOWN, interface_, doing);
  }
}

bool RawSocket::readable() const {
  pollfd poll{.fd = fd(), .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) > 0;
}

void RawSocket::wait(std::uint64_t timeout_ns, bool to_send) const {
  pollfd poll{.fd = fd(), .events = POLLIN, .revents = 0};
  if (to_send) {
    poll.events |= POLLOUT;
    // After ENOBUFS the socket counts as writable although the queue below it is full: without a
    // pause this would spin.
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 50'000};
    ::nanosleep(&pause, nullptr);
  }
  constexpr std::uint64_t longest = 3'600'000'000'000;
  const std::uint64_t bounded = std::min(timeout_ns, longest);
  const timespec timeout{.tv_sec = static_cast<time_t>(bounded / 1'000'000'000),
                         .tv_nsec = static_cast<long>(bounded % 1'000'000'000)};
  // A signal or an error ends the wait as well; the caller looks what there is either way.
  ::ppoll(&poll, 1, &timeout, nullptr);
}

std::uint64_t RawSocket::kernel_drops() {
  tpacket_stats statistics{};
  socklen_t length = sizeof statistics;
  // The kernel starts over with each reading.
  if (::getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &statistics, &length) == 0) {
    kernel_drops_ += statistics.tp_drops;
  }
  return kernel_drops_;
}

} // namespace tributary::transport
