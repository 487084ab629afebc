#include "pktgen/transport/raw_port.hpp"

#include "dataplane/port/kernel_interface.hpp"
#include "pktgen/transport/fan_out.hpp"

#include <linux/if_packet.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace tributary::pktgen {
namespace {

constexpr std::size_t cache_line = 64;

} // namespace

RawPort::RawPort(const std::string& interface, std::uint16_t ethertype, const Options& options)
    : socket_(interface, ethertype, options.receive_buffer_bytes),
      longest_frame_(std::min(socket_.mtu(), longest_payload) +
                     static_cast<std::uint32_t>(wire::ethernet_header_bytes)),
      stride_((longest_frame_ + cache_line - 1) / cache_line * cache_line),
      buffers_(std::make_unique<std::byte[]>(2 * burst * stride_)) {
  if (options.bypass_queueing) {
    // Where the kernel will not, frames pass the interface's queue: slower, and all the same.
    const int on = 1;
    ::setsockopt(socket_.fd(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
  }
  for (std::size_t i = 0; i < burst; ++i) {
    free_[i] = &buffers_[i * stride_];
    receive_vectors_[i] = {.iov_base = &buffers_[(burst + i) * stride_], .iov_len = stride_};
    receive_headers_[i].msg_hdr.msg_iov = &receive_vectors_[i];
    receive_headers_[i].msg_hdr.msg_iovlen = 1;
    send_headers_[i].msg_hdr.msg_iov = &send_vectors_[i];
    send_headers_[i].msg_hdr.msg_iovlen = 1;
  }
}

std::vector<std::unique_ptr<RawPort>>
RawPort::sharing(const std::string& interface, std::uint16_t ethertype, std::uint16_t ports) {
  std::vector<std::unique_ptr<RawPort>> all;
  std::vector<int> sockets;
  while (all.size() < ports) {
    all.push_back(std::make_unique<RawPort>(interface, ethertype));
    all.back()->sharers_ = ports;
    sockets.push_back(all.back()->socket_.fd());
  }
  if (ports > 1) {
    fan_out(sockets, interface);
  }
  return all;
}

std::string RawPort::description() const {
  return sharers_ == 1 ? fmt::format("raw socket on {}", socket_.interface())
                       : fmt::format("raw sockets on {} ({} queues, spread by fabric addresses)",
                                     socket_.interface(), sharers_);
}

const PortCounts& RawPort::counts() {
  counts_.receive_drops = socket_.kernel_drops();
  return counts_;
}

std::string RawPort::trouble() { return trouble_with_interface(socket_.interface()); }

std::size_t RawPort::transmit(std::span<Slot> slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    send_vectors_[i] = {.iov_base = slots[i].data, .iov_len = slots[i].length};
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

std::size_t RawPort::replenish(std::span<Slot> slots) {
  const std::size_t count = std::min(slots.size(), free_count_);
  for (Slot& slot : slots.first(count)) {
    slot.data = free_[--free_count_];
  }
  return count;
}

std::size_t RawPort::take(std::span<core::FrameView> views) {
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
    views[i] = {static_cast<std::byte*>(receive_vectors_[i].iov_base), receive_headers_[i].msg_len};
  }
  return static_cast<std::size_t>(count);
}

std::string trouble_with_interface(const std::string& interface) {
  const dataplane::InterfaceState state = dataplane::interface_state(interface);
  if (!state.exists()) {
    return fmt::format("interface '{}' is gone", interface);
  }
  if (!state.up) {
    return fmt::format("interface '{0}' is down; `ip link set {0} up`", interface);
  }
  if (!state.running) {
    return fmt::format(
        "interface '{}' has no carrier: nothing is at the other end of its cable, or "
        "it is down there",
        interface);
  }
  return {};
}

} // namespace tributary::pktgen
