// Collective calls of several sizes among several numbers of hosts, by several algorithms.
#pragma once

#include "tools/simulator/allreduce/call.hpp"
#include "tools/simulator/allreduce/costs.hpp"
#include "tools/simulator/allreduce/paths.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tributary::simulator::allreduce {

struct Study {
  std::string topology = "ft3:8";
  Routes routes = Routes::shortest; ///< unicast, for the algorithms among hosts
  std::uint8_t vcs = 2;             ///< for planned routes
  Placement placement = Placement::packed;
  std::uint64_t seed = 1;
  Call call = Call::allreduce;
  std::vector<Algorithm> algorithms; ///< of `algorithms_of(call)`
  std::vector<std::uint32_t> hosts;
  std::vector<std::uint64_t> bytes; ///< of the vector, all blocks together; multiples of eight
  Costs costs = default_costs();
};

struct StudyPoint {
  Algorithm algorithm = Algorithm::in_network;
  std::uint32_t hosts = 0;
  std::uint64_t bytes = 0;
  double ns = 0;
  std::uint64_t messages = 0;  ///< sent by all hosts: frames of the reduction protocol, or messages
  std::uint64_t most_sent = 0; ///< bytes of vector, by one host
  double slowest_share = 0;    ///< share of a link that the slowest message got; 1 in the network
  double busiest_switch = 0;   ///< share of the time its cores worked, in the network; else 0
  std::uint32_t tree_height = 0; ///< links from the root's switch to the farthest; else 0
  friend bool operator==(const StudyPoint&, const StudyPoint&) = default;
};

/// Hosts vary slowest, then sizes, then algorithms. Calls `progress` with the share that is done,
/// and ends early, with the points so far, when `stop` returns true. Throws AllreduceError, and
/// ModelError and RouteError from the rooms that it uses.
[[nodiscard]] std::vector<StudyPoint> run_study(const Study& study,
                                                const std::function<void(double)>& progress,
                                                const std::function<bool()>& stop);

} // namespace tributary::simulator::allreduce
