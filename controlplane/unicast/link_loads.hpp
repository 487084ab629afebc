// Balance of link loads of a set of tables: every endpoint sends one frame to every other, and
// where a switch has a choice, the frame is divided.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/network.hpp"

#include <cstdint>
#include <span>

namespace tributary::unicast {

struct LinkLoads {
  double mean = 0;    ///< frames on a direction of a link that is up
  double hottest = 0; ///< the most loaded one
  std::uint32_t hottest_link = 0;
  double mean_hops = 0;
  std::uint32_t most_hops = 0;
};

/// Requires that every frame arrives: dropped ones are not counted.
[[nodiscard]] LinkLoads link_loads(const Network& network, const TableSet& tables,
                                   const PortStates& up, std::span<const std::uint32_t> endpoints);

} // namespace tributary::unicast
