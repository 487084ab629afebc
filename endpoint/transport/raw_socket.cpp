#include "endpoint/transport/raw_socket.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace tributary::transport {

RawSocket::RawSocket(const std::string& interface, std::uint16_t ethertype,
                     std::size_t buffer_bytes)
    : socket_(interface, ethertype, buffer_bytes) {
  for (std::size_t i = 0; i < batch; ++i) {
    receive_vectors_[i] = {.iov_base = received_[i].data(), .iov_len = frame_room};
    receive_headers_[i].msg_hdr.msg_iov = &receive_vectors_[i];
    receive_headers_[i].msg_hdr.msg_iovlen = 1;
    send_headers_[i].msg_hdr.msg_iov = &send_vectors_[i];
    send_headers_[i].msg_hdr.msg_iovlen = 1;
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
    socket_.throw_unless_recovered(errno, "receiving");
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
      socket_.throw_unless_recovered(errno, "sending");
    }
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

} // namespace tributary::transport
