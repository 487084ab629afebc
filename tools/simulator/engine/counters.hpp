// The counters of a run.
#pragma once

#include "lib/statistics/histogram.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::simulator::engine {

enum class Drop : std::uint8_t {
  dest_dead,           ///< the last link to the destination's switch is down
  no_vc,               ///< a path is known, and needs one more virtual channel than there is
  no_route,            ///< no path is known
  lost_in_dead_switch, ///< it waited in a switch that died
  lost_on_dead_link,   ///< it was on a link that died, or was sent into it before that was noticed
};
inline constexpr std::array<std::string_view, 5> drop_names{
    "dest_dead", "no_vc", "no_route", "lost_in_dead_switch", "lost_on_dead_link"};

struct Counters {
  std::uint64_t injected = 0;  ///< packets that hosts began to send
  std::uint64_t delivered = 0; ///< and that arrived, all of it
  std::array<std::uint64_t, drop_names.size()> dropped{};
  std::uint64_t grants = 0; ///< packets through a switch: packet-hops
  std::uint64_t events = 0; ///< HEAD_ARRIVES, TRANSFER_DONE, CREDIT_BACK
  std::uint8_t most_links = 0;

  [[nodiscard]] std::uint64_t all_dropped() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : dropped) {
      sum += count;
    }
    return sum;
  }
};

/// Latencies of the packets that arrived while measuring; ticks.
struct Latencies {
  statistics::Histogram from_creation; ///< with the time in the host's queue
  statistics::Histogram from_entry;
};

} // namespace tributary::simulator::engine
