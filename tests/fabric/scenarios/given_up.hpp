// The queues that watchdogs of a run's switches have reported.
#pragma once

#include "tests/fabric/fabric.hpp"

#include <array>
#include <cstdint>
#include <set>

namespace tributary::fabric {

/// The queues that were given up at any time, as (switch, port, class).
inline std::set<std::array<std::uint32_t, 3>> given_up(Fabric& fabric) {
  std::set<std::array<std::uint32_t, 3>> queues;
  for (SwitchIndex s = 0; s < fabric.topology().switch_count(); ++s) {
    for (std::uint8_t p = 0; p < fabric.topology().ports(s).size(); ++p) {
      ClassSet::all().for_each([&](TrafficClass c) {
        if (fabric.at_switch(s).queue(PortNumber{p}, c).given_up_times > 0) {
          queues.insert({s, p, c.value});
        }
      });
    }
  }
  return queues;
}

} // namespace tributary::fabric
