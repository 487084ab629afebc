#include "controlplane/southbound/protocol/port_rates.hpp"

#include <algorithm>

namespace tributary::southbound::protocol {

bool is_repeat(std::string_view drop_reason) {
  return drop_reason == "stale_sequence" || drop_reason == "counted_twice";
}

Dropped dropped_by(const control::PortStatistics& port) {
  Dropped all;
  for (const auto& [reason, count] : port.drops()) {
    (is_repeat(reason) ? all.repeats : all.drops) += count;
  }
  return all;
}

PortRates rates_between(const control::PortStatistics& before, const control::PortStatistics& after,
                        std::uint64_t ns) {
  bool fell = ns == 0;
  const auto risen = [&](std::uint64_t from, std::uint64_t to) {
    fell = fell || to < from;
    return static_cast<double>(to - from);
  };
  const auto each_second = [&](std::uint64_t from, std::uint64_t to) {
    return risen(from, to) * 1e9 / static_cast<double>(std::max<std::uint64_t>(ns, 1));
  };
  const Dropped dropped_before = dropped_by(before);
  const Dropped dropped_after = dropped_by(after);
  const PortRates rates{
      .received_frames = each_second(before.received(), after.received()),
      .sent_frames = each_second(before.sent(), after.sent()),
      .received_bytes = each_second(before.received_bytes(), after.received_bytes()),
      .sent_bytes = each_second(before.sent_bytes(), after.sent_bytes()),
      .drops = each_second(dropped_before.drops, dropped_after.drops),
      .repeats = each_second(dropped_before.repeats, dropped_after.repeats),
      .paused = std::min(1.0, each_second(before.paused_ns(), after.paused_ns()) / 1e9)};
  return fell ? PortRates{} : rates;
}

} // namespace tributary::southbound::protocol
