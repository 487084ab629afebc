// Rates of flows that share resources: max-min fair.
//
// Every flow gets as much as it can without taking from one that has less: the resource with the
// least left for each of its flows fixes the rates of those, and so on (progressive filling).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tributary::simulator::allreduce {

/// `flows`: for each the resources it crosses, each once. `capacities`: by resource, in any unit.
/// Returns the rate of each flow in that unit; a flow that crosses nothing gets infinity.
[[nodiscard]] std::vector<double> fair_rates(std::span<const std::vector<std::uint32_t>> flows,
                                             std::span<const double> capacities);

} // namespace tributary::simulator::allreduce
