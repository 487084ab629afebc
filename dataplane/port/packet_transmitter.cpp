#include "dataplane/port/packet_transmitter.hpp"

#include "dataplane/port/mbuf_ownership.hpp"
#include "lib/link/link_error.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <linux/if_packet.h>

namespace tributary::port {
namespace {

/// Capacity of the interface's driver; the kernel counts more than a frame's own bytes.
constexpr int send_buffer_bytes = 8 << 20;

/// Whether the same frame may be accepted later after this error.
bool may_recover(int error) {
  switch (error) {
  case EAGAIN:
  case ENOBUFS:
  case ENOMEM:
  case ENETDOWN:
  case ENETUNREACH:
  case ENXIO:
  case ENODEV: return true;
  default: return false;
  }
}

} // namespace

PacketTransmitter::PacketTransmitter(const std::string& interface)
    : socket_(interface, std::nullopt) {
  const int on = 1;
  if (::setsockopt(socket_.fd(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) != 0) {
    throw link::link_error(errno, interface, "asking to pass its queueing");
  }
  // Beyond the system's limit only with CAP_NET_ADMIN; otherwise as much as the kernel grants.
  if (::setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer_bytes,
                   sizeof send_buffer_bytes) != 0) {
    ::setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
  }
}

/// Prepares as many of the first frames as fit.
std::uint16_t PacketTransmitter::prepare(rte_mbuf* const* frames, std::uint16_t count) {
  std::size_t used = 0;
  std::uint16_t prepared = 0;
  for (; prepared < std::min(count, burst); ++prepared) {
    const rte_mbuf* piece = frames[prepared];
    if (piece->nb_segs > pieces_.size() - used) {
      break;
    }
    msghdr& message = messages_[prepared].msg_hdr;
    message.msg_iov = &pieces_[used];
    message.msg_iovlen = piece->nb_segs;
    for (; piece != nullptr; piece = piece->next) {
      pieces_[used++] = {.iov_base = rte_pktmbuf_mtod(piece, void*), .iov_len = piece->data_len};
    }
  }
  return prepared;
}

std::uint16_t PacketTransmitter::transmit(rte_mbuf* const* frames, std::uint16_t count) {
  std::uint16_t done = 0;
  while (done < count) {
    const std::uint16_t prepared = prepare(frames + done, static_cast<std::uint16_t>(count - done));
    int sent =
        prepared == 0 ? -1 : ::sendmmsg(socket_.fd(), messages_.data(), prepared, MSG_DONTWAIT);
    if (sent < 0 && prepared != 0) {
      if (errno == EINTR) {
        continue;
      }
      if (may_recover(errno)) {
        break;
      }
    }
    if (sent < 1) {
      refused_.store(refused() + 1, std::memory_order_relaxed);
      sent = 1; // the frame is dropped
    }
    for (int i = 0; i < sent; ++i) {
      give_back(frames[done++]);
    }
  }
  return done;
}

} // namespace tributary::port
