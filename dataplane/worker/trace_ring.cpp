#include "dataplane/worker/trace_ring.hpp"

#include "tributary/wire/byte_order.hpp"

#include <algorithm>

namespace tributary::dataplane {
namespace {

constexpr unsigned multicast_bit = 0x80;

std::uint64_t pack(std::uint8_t switch_index, PortNumber in, const core::Decision& d,
                   bool multicast, ReductionKey key) {
  const auto byte = [](auto value, unsigned position) {
    return static_cast<std::uint64_t>(value) << (8 * position);
  };
  const unsigned action = static_cast<unsigned>(d.action) | (multicast ? multicast_bit : 0U);
  return byte(switch_index, 0) | byte(in.value, 1) | byte(d.event, 2) | byte(action, 3) |
         byte(d.reason, 4) | byte(d.port.value, 5) | byte(key.index(), 6);
}

TraceEvent unpack(std::uint8_t worker, const std::array<std::uint64_t, 4>& words) {
  const auto byte = [&](unsigned position) {
    return static_cast<std::uint8_t>(words[1] >> (8 * position));
  };
  TraceEvent e;
  e.time = TimeNs{words[0]};
  e.switch_index = byte(0);
  e.worker = worker;
  e.port = PortNumber{byte(1)};
  e.event = static_cast<core::Event>(byte(2));
  e.action = static_cast<core::Action>(byte(3) & (multicast_bit - 1));
  e.multicast = (byte(3) & multicast_bit) != 0;
  e.reason = static_cast<core::DropReason>(byte(4));
  e.out = PortNumber{byte(5)};
  const auto key = static_cast<std::uint16_t>(words[1] >> 48);
  e.key = ReductionKey(TreeNumber{static_cast<std::uint16_t>(key / reductions_per_tree)},
                       ReductionId{static_cast<std::uint8_t>(key % reductions_per_tree)});
  e.word = wire::unpack(words[2]);
  e.out_ports = PortSet(words[3]);
  return e;
}

} // namespace

void TraceRing::add(TimeNs now, std::uint8_t switch_index, PortNumber in,
                    const core::Decision& decision, const std::byte* frame, std::uint32_t length) {
  constexpr std::size_t address_end = wire::ethernet_header_bytes + wire::fabric_header_bytes;
  const std::byte* portals = frame + wire::ethernet_header_bytes;
  bool multicast = false;
  ReductionKey key;
  std::uint64_t word = 0;
  if (length >= address_end) [[likely]] {
    const wire::FabricAddress address = wire::dfa_of(portals);
    multicast = address.is_multicast();
    if (multicast) [[likely]] {
      key = ReductionKey(address.tree(), address.reduction());
      if (length >= wire::reduction_frame_bytes) [[likely]] {
        word = wire::load_be<std::uint64_t>(portals + wire::reduction_offset::word);
      }
    }
  }
  // Each store releases, so that whoever sees it also sees how far the ring was committed before.
  auto& words = slots_[next_++ % capacity].words;
  words[0].store(now.value, std::memory_order_release);
  words[1].store(pack(switch_index, in, decision, multicast, key), std::memory_order_release);
  words[2].store(word, std::memory_order_release);
  words[3].store(decision.action == core::Action::replicate ? decision.ports.bits() : 0,
                 std::memory_order_release);
}

void TraceRing::read(std::uint8_t worker, std::vector<TraceEvent>& out) const {
  const std::uint64_t end = committed_.load(std::memory_order_acquire);
  const std::uint64_t begin = end > capacity ? end - capacity : 0;
  std::vector<std::array<std::uint64_t, 4>> copies;
  copies.reserve(end - begin);
  for (std::uint64_t i = begin; i < end; ++i) {
    std::array<std::uint64_t, 4> copy{};
    std::ranges::transform(slots_[i % capacity].words, copy.begin(),
                           [](const auto& word) { return word.load(std::memory_order_acquire); });
    copies.push_back(copy);
  }
  const std::uint64_t reached = committed_.load(std::memory_order_acquire) + max_uncommitted;
  const std::uint64_t intact = reached > capacity ? reached - capacity : 0;
  for (std::uint64_t i = std::max(begin, intact); i < end; ++i) {
    out.push_back(unpack(worker, copies[i - begin]));
  }
}

} // namespace tributary::dataplane
