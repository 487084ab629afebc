#include "dataplane/worker/trace_ring.hpp"

#include <algorithm>

namespace tributary::dataplane {

TraceEvent TraceRing::unpack(std::uint8_t worker, const std::array<std::uint64_t, 4>& words) {
  const auto byte = [&](unsigned position) {
    return static_cast<std::uint8_t>(words[1] >> (8 * position));
  };
  TraceEvent e;
  e.time = TimeNs{words[0]};
  e.action = static_cast<core::Action>(byte(0) & (multicast_bit - 1));
  e.multicast = (byte(0) & multicast_bit) != 0;
  e.reason = static_cast<core::DropReason>(byte(1));
  e.event = static_cast<core::Event>(byte(2));
  e.out = PortNumber{byte(3)};
  e.switch_index = byte(4);
  e.worker = worker;
  e.port = PortNumber{byte(5)};
  const auto key = static_cast<std::uint16_t>(words[1] >> 48);
  e.key = ReductionKey(TreeNumber{static_cast<std::uint16_t>(key / reductions_per_tree)},
                       ReductionId{static_cast<std::uint8_t>(key % reductions_per_tree)});
  e.word = wire::unpack(words[2]);
  e.out_ports = e.action == core::Action::replicate ? PortSet(words[3]) : PortSet();
  return e;
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
