#include "pktgen/transport/loopback_port.hpp"

#include "tributary/wire/byte_order.hpp"

namespace tributary::pktgen {
namespace {

/// Two for each link; nothing is registered in this range.
constexpr std::uint16_t first_ethertype = 0xFC00;

void write_ethertype(std::byte* frame, std::uint16_t ethertype) {
  wire::store_be<std::uint16_t>(frame + 12, ethertype);
}

} // namespace

std::pair<std::unique_ptr<LoopbackPort>, std::unique_ptr<LoopbackPort>>
LoopbackPort::joined(std::size_t link, std::uint16_t ethertype) {
  const auto there = static_cast<std::uint16_t>(first_ethertype + 2 * link);
  const auto back = static_cast<std::uint16_t>(there + 1);
  return {std::unique_ptr<LoopbackPort>(new LoopbackPort(ethertype, back, there)),
          std::unique_ptr<LoopbackPort>(new LoopbackPort(ethertype, there, back))};
}

LoopbackPort::LoopbackPort(std::uint16_t ethertype, std::uint16_t heard, std::uint16_t spoken)
    : RawPort("lo", heard), ethertype_(ethertype), spoken_(spoken) {}

std::size_t LoopbackPort::transmit(std::span<Slot> slots) {
  for (const Slot& slot : slots) {
    write_ethertype(slot.data, spoken_);
  }
  return RawPort::transmit(slots);
}

std::size_t LoopbackPort::take(std::span<core::FrameView> views) {
  const std::size_t count = RawPort::take(views);
  for (const core::FrameView& view : views.first(count)) {
    write_ethertype(view.data, ethertype_);
  }
  return count;
}

} // namespace tributary::pktgen
