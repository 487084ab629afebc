#include "lib/link/raw_socket.hpp"

#include "lib/link/interface.hpp"
#include "lib/link/wait.hpp"

#include <linux/if_packet.h>

#include <arpa/inet.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace tributary::link {
namespace {

constexpr std::size_t cache_line = 64;

std::optional<PacketSocket::Hearing> hearing_of(std::uint16_t ethertype,
                                                const RawSocket::Options& options) {
  if (!options.hears) {
    return std::nullopt;
  }
  return PacketSocket::Hearing{.ethertype = ethertype,
                               .buffer_bytes = options.receive_buffer_bytes};
}

std::size_t left_out_of(const PacketSocket& socket) {
  return socket.header() == PacketSocket::Header::of_kernel ? wire::ethernet_header_bytes : 0;
}

} // namespace

RawSocket::RawSocket(const std::string& interface, std::uint16_t ethertype, const Options& options)
    : Port(options.frames_at_once, Gathers::yes),
      socket_(interface, hearing_of(ethertype, options)), hears_(options.hears),
      longest_frame_(frame_within(options.longest_frame)), left_out_(left_out_of(socket_)) {
  if (options.bypass_queueing) {
    // If the kernel refuses, frames pass the interface's queue: slower, but equivalent.
    const int on = 1;
    ::setsockopt(socket_.fd(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
  }
  make_buffers();
}

RawSocket::RawSocket(PacketSocket opened, const Options& options)
    : Port(options.frames_at_once, Gathers::yes), socket_(std::move(opened)), hears_(options.hears),
      longest_frame_(frame_within(options.longest_frame)), left_out_(left_out_of(socket_)) {
  make_buffers();
}

std::uint32_t RawSocket::frame_within(std::uint32_t longest_frame) const {
  constexpr auto header = static_cast<std::uint32_t>(wire::ethernet_header_bytes);
  return std::min({socket_.mtu() + header, longest_frame, longest_payload + header});
}

void RawSocket::make_buffers() {
  const std::size_t stride = (longest_frame_ + cache_line - 1) / cache_line * cache_line;
  const std::size_t to_receive = hears_ ? frames_at_once() : 0;
  // Uninitialised: unused buffers take no memory.
  buffers_ = std::make_unique_for_overwrite<std::byte[]>((frames_at_once() + to_receive) * stride);
  free_count_ = frames_at_once();
  for (std::size_t i = 0; i < frames_at_once(); ++i) {
    free_[i] = &buffers_[i * stride];
    send_headers_[i].msg_hdr.msg_iov = send_vectors_[i].data();
    if (left_out_ != 0) {
      sent_to_[i] = socket_.way_out();
      send_headers_[i].msg_hdr.msg_name = &sent_to_[i];
      send_headers_[i].msg_hdr.msg_namelen = sizeof sent_to_[i];
    }
  }
  for (std::size_t i = 0; i < to_receive; ++i) {
    receive_vectors_[i] = {.iov_base = &buffers_[(frames_at_once() + i) * stride + left_out_],
                           .iov_len = longest_frame_ - left_out_};
    receive_headers_[i].msg_hdr.msg_iov = &receive_vectors_[i];
    receive_headers_[i].msg_hdr.msg_iovlen = 1;
    if (left_out_ != 0) {
      // The kernel writes the length back, the same for every frame.
      receive_headers_[i].msg_hdr.msg_name = &received_from_[i];
      receive_headers_[i].msg_hdr.msg_namelen = sizeof received_from_[i];
    }
  }
}

void RawSocket::take_header(std::size_t index, const std::byte* frame) {
  const std::uint16_t protocol = htons(wire::ethertype_of(frame));
  sent_to_[index].sll_protocol = protocol;
  std::memcpy(sent_to_[index].sll_addr, frame, wire::MacAddress{}.size());
}

void RawSocket::put_header(std::size_t index, std::byte* frame) const {
  wire::MacAddress source{};
  std::memcpy(source.data(), received_from_[index].sll_addr, source.size());
  wire::write_ethernet_header(frame, socket_.address(), source,
                              ntohs(received_from_[index].sll_protocol));
}

void RawSocket::enlarge(std::uint32_t longest_frame, std::size_t receive_buffer_bytes) {
  socket_.set_receive_buffer(receive_buffer_bytes);
  if (const std::uint32_t wanted = frame_within(longest_frame); wanted > longest_frame_) {
    longest_frame_ = wanted;
    forget_buffers();
    make_buffers();
  }
}

std::size_t RawSocket::receive_room() const {
  // What the kernel charges a socket per frame: its buffer, of a power of two, and its metadata.
  constexpr std::size_t around = 384;
  constexpr std::size_t description = 256;
  return socket_.receive_buffer() / (std::bit_ceil(longest_frame_ + around) + description);
}

std::vector<std::unique_ptr<RawSocket>> RawSocket::sharing(const std::string& interface,
                                                           std::uint16_t ethertype,
                                                           std::uint16_t ports,
                                                           const Spread& spread) {
  std::vector<std::unique_ptr<RawSocket>> all;
  std::vector<int> sockets;
  while (all.size() < ports) {
    all.push_back(std::make_unique<RawSocket>(interface, ethertype));
    all.back()->sharers_ = ports;
    all.back()->spread_by_ = spread.by;
    sockets.push_back(all.back()->fd());
  }
  if (ports > 1) {
    fan_out(sockets, interface, spread);
  }
  return all;
}

std::string RawSocket::description() const {
  return sharers_ == 1 ? fmt::format("raw socket on {}", socket_.interface())
                       : fmt::format("raw sockets on {} ({} queues, spread by {})",
                                     socket_.interface(), sharers_, spread_by_);
}

bool RawSocket::may_receive() { return readable(fd()); }

const PortCounts& RawSocket::counts() {
  counts_.receive_drops = socket_.kernel_drops();
  return counts_;
}

std::string RawSocket::error() { return socket_.error(); }

std::uint32_t RawSocket::speed_mbps() const { return interface_speed_mbps(socket_.interface()); }

std::size_t RawSocket::transmit(std::span<Slot> slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::span<const std::byte> rest = slots[i].rest;
    if (left_out_ != 0) {
      take_header(i, slots[i].data);
    }
    send_vectors_[i] = {
        {{.iov_base = slots[i].data + left_out_,
          .iov_len = slots[i].length - rest.size() - left_out_},
         // The kernel only reads it.
         {.iov_base = const_cast<std::byte*>(rest.data()), .iov_len = rest.size()}}};
    send_headers_[i].msg_hdr.msg_iovlen = rest.empty() ? 1 : 2;
  }
  int sent = -1;
  while (sent < 0) {
    sent = ::sendmmsg(socket_.fd(), send_headers_.data(), static_cast<unsigned>(slots.size()),
                      MSG_DONTWAIT);
    if (sent >= 0 || errno == EINTR) {
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      return 0;
    }
    socket_.throw_unless_recovered(errno, "sending");
  }
  // The kernel has copied them.
  for (const Slot& slot : slots.first(static_cast<std::size_t>(sent))) {
    free_[free_count_++] = slot.data;
  }
  return static_cast<std::size_t>(sent);
}

std::size_t RawSocket::replenish(std::span<Slot> slots) {
  const std::size_t count = std::min(slots.size(), free_count_);
  for (Slot& slot : slots.first(count)) {
    slot.data = free_[--free_count_];
  }
  return count;
}

std::size_t RawSocket::take(std::span<FrameView> views) {
  int count = -1;
  while (count < 0) {
    count = ::recvmmsg(socket_.fd(), receive_headers_.data(), static_cast<unsigned>(views.size()),
                       MSG_DONTWAIT, nullptr);
    if (count >= 0 || errno == EINTR) {
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    }
    socket_.throw_unless_recovered(errno, "receiving");
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const mmsghdr& header = receive_headers_[i];
    std::byte* const frame = static_cast<std::byte*>(receive_vectors_[i].iov_base) - left_out_;
    if (left_out_ != 0) {
      put_header(i, frame);
    }
    views[i] = {frame, header.msg_len + static_cast<std::uint32_t>(left_out_)};
    counts_.received_cut += (header.msg_hdr.msg_flags & MSG_TRUNC) != 0 ? 1 : 0;
  }
  return static_cast<std::size_t>(count);
}

} // namespace tributary::link
