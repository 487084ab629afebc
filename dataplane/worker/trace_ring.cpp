#include "dataplane/worker/trace_ring.hpp"

#include <algorithm>

namespace tributary::worker {
namespace {

std::uint8_t byte_of(std::uint64_t word, unsigned position) {
  return static_cast<std::uint8_t>(word >> (8 * position));
}

} // namespace

/// Unpacks a frame's words into an event that has the common part of its burst.
void TraceRing::unpack(const Words& words, TraceEvent& event) {
  const std::uint8_t action = byte_of(words[0], 0);
  event.action = static_cast<core::Action>(action & action_mask);
  event.reason = static_cast<core::DropReason>(byte_of(words[0], 1));
  event.event = static_cast<core::Event>(byte_of(words[0], 2));
  event.out = PortNumber{byte_of(words[0], 3)};
  event.out_ports = is_copied(event.action) ? PortSet(words[2]) : PortSet();
  if ((action & no_address_bit) != 0) {
    return;
  }
  std::array<std::byte, 8> wire_order;
  const auto destination = static_cast<std::uint32_t>(words[0] >> 32);
  std::memcpy(wire_order.data(), &destination, sizeof destination);
  const wire::FabricAddress address{wire::load_be<std::uint32_t>(wire_order.data())};
  event.multicast = address.is_multicast();
  if (!event.multicast) {
    return;
  }
  event.key = ReductionKey(address.tree(), address.slot());
  if ((action & no_word_bit) == 0) {
    std::memcpy(wire_order.data(), &words[1], sizeof words[1]);
    std::uint64_t word = wire::load_be<std::uint64_t>(wire_order.data());
    if ((action & wide_bit) != 0) {
      constexpr unsigned shape_at = 48;
      event.form = static_cast<wire::Form>(word >> (shape_at + 13));
      event.payload_bytes = 8 * static_cast<std::uint32_t>(word >> shape_at & 0x1FFF);
      word &= (std::uint64_t{1} << 47) - 1; // one bit of the code lies below
    }
    event.word = wire::unpack(word);
  }
}

void TraceRing::read(std::uint8_t worker, std::vector<TraceEvent>& out) const {
  const std::uint64_t end = committed_.load(std::memory_order_acquire);
  const std::uint64_t begin = end > capacity ? end - capacity : 0;
  std::vector<Words> copies;
  copies.reserve(end - begin);
  for (std::uint64_t i = begin; i < end; ++i) {
    Words copy{};
    std::ranges::transform(slots_[i % capacity].words, copy.begin(),
                           [](const auto& word) { return word.load(std::memory_order_relaxed); });
    copies.push_back(copy);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint64_t reached = committed_.load(std::memory_order_relaxed) + max_uncommitted;
  const std::uint64_t intact = reached > capacity ? reached - capacity : 0;
  // Frames whose burst began before the intact part have lost their common part, and are omitted.
  bool knows_burst = false;
  TraceEvent common;
  common.worker = worker;
  common.oldest = std::max(begin, intact);
  for (std::uint64_t i = std::max(begin, intact); i < end; ++i) {
    const Words& words = copies[i - begin];
    if (byte_of(words[0], 0) == burst_mark) {
      knows_burst = true;
      common.time = TimeNs{words[1]};
      common.switch_index = byte_of(words[0], 1);
      common.port = PortNumber{byte_of(words[0], 2)};
    } else if (knows_burst) {
      TraceEvent& event = out.emplace_back(common);
      event.number = i;
      unpack(words, event);
    }
  }
}

} // namespace tributary::worker
