#include "pktgen/transport/loopback_port.hpp"

#include "lib/net/unix_address.hpp"
#include "tributary/wire/byte_order.hpp"

#include <sys/socket.h>

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace tributary::pktgen::transport {
namespace {

/// Nothing is registered from here on.
constexpr std::uint16_t first_ethertype = 0xFC00;
constexpr std::uint16_t ranges = 7;

void write_ethertype(std::byte* frame, std::uint16_t ethertype) {
  wire::store_be<std::uint16_t>(frame + 12, ethertype);
}

} // namespace

LoopbackRange::LoopbackRange() {
  for (std::uint16_t range = 0; range < ranges; ++range) {
    // A name without a file, of this network namespace as the interface is.
    const std::string name = fmt::format("tributary-pktgen-loopback-{}", range);
    const auto address = net::UnixAddress::abstract(name);
    claim_ = net::FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (::bind(claim_.get(), address->get(), address->size()) == 0) {
      first_ = static_cast<std::uint16_t>(first_ethertype + range * size);
      return;
    }
  }
  throw std::runtime_error(fmt::format(
      "{} generators calibrate through the loopback interface already; wait for one of them",
      ranges));
}

std::pair<std::unique_ptr<LoopbackPort>, std::unique_ptr<LoopbackPort>>
LoopbackPort::joined(std::size_t link, std::shared_ptr<LoopbackRange> range,
                     std::uint16_t ethertype) {
  const auto there = static_cast<std::uint16_t>(range->first() + 2 * link);
  const auto back = static_cast<std::uint16_t>(there + 1);
  return {std::unique_ptr<LoopbackPort>(new LoopbackPort(range, ethertype, back, there)),
          std::unique_ptr<LoopbackPort>(new LoopbackPort(range, ethertype, there, back))};
}

LoopbackPort::LoopbackPort(std::shared_ptr<LoopbackRange> range, std::uint16_t ethertype,
                           std::uint16_t heard, std::uint16_t spoken)
    : RawSocket("lo", heard), range_(std::move(range)), ethertype_(ethertype), spoken_(spoken) {}

std::size_t LoopbackPort::transmit(std::span<Slot> slots) {
  for (const Slot& slot : slots) {
    write_ethertype(slot.data, spoken_);
  }
  return RawSocket::transmit(slots);
}

std::size_t LoopbackPort::take(std::span<FrameView> views) {
  const std::size_t count = RawSocket::take(views);
  for (const FrameView& view : views.first(count)) {
    write_ethertype(view.data, ethertype_);
  }
  return count;
}

} // namespace tributary::pktgen::transport
