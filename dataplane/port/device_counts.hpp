// Counters of a port's device.
#pragma once

#include "lib/statistics/counter_info.hpp"

#include <cstdint>

namespace tributary::port {

struct DeviceCounts {
  std::uint64_t link_transitions = 0;
  std::uint64_t rx_missed = 0;
  std::uint64_t tx_refused = 0;

  static constexpr statistics::CounterRow<DeviceCounts, std::uint64_t DeviceCounts::*> rows[] = {
      {&DeviceCounts::link_transitions,
       {"link_transitions",
        "Changes of the device's link state.",
        "port_link_transitions",
        {"CHANGES", 5}}},
      {&DeviceCounts::rx_missed,
       {"rx_missed", "Frames that the device dropped before a worker took them.",
        "port_missed_frames"}},
      {&DeviceCounts::tx_refused,
       {"tx_refused", "Frames that the interface never takes, such as longer than its MTU.",
        "port_refused_frames"}},
  };
};
static_assert(statistics::all_have_rows<DeviceCounts>);

} // namespace tributary::port
