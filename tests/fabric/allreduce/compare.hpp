// The same allreduce twice: by the simulator's model, and on the virtual fabric, where the
// product's switch core, queues, routes and collective protocol run frame by frame.
//
// Both have the same fabric, tree, routes, links and hosts' costs. A switch of the virtual fabric
// takes a frame up to a poll's delay after it arrived and processes it in zero time, so the model's
// switches have that delay and no other cost.
#pragma once

#include "tools/simulator/allreduce/study.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::fabric {

struct ComparedAllreduce {
  simulator::allreduce::StudyPoint simulated;
  double fabric_ns = 0;
  std::uint64_t frames = 0; ///< that entered links in the virtual fabric
  std::vector<std::string> violations{};

  [[nodiscard]] double ratio() const { return simulated.ns / fabric_ns; }
};

/// The simulator's costs, with those of a virtual fabric's switch.
[[nodiscard]] simulator::allreduce::Costs costs_of_virtual_fabric();

/// Runs it among the first hosts of a model with up to 64 ports a switch.
[[nodiscard]] ComparedAllreduce compare_allreduce(const std::string& topology, std::uint32_t hosts,
                                                  std::uint64_t bytes,
                                                  simulator::allreduce::Algorithm algorithm,
                                                  const simulator::allreduce::Costs& costs);

} // namespace tributary::fabric
