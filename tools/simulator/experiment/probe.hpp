// Latencies without traffic: single packets on the routes of the paper's figure 5.
//
// 4x4 leaves, one plane, leaves 0.2 and 2.0 dead and known, packets of one flit:
//
//   xy         leaf1.1 to leaf3.3: row, then column                        4 links   237 ns
//   yx         leaf0.1 to leaf1.2: its corner 0.2 is dead                  4 links   237 ns
//   RCR        leaf0.0 to leaf2.2: both corners are dead                   6 links   307 ns
//   on the     leaf0.0 to leaf2.2, and leaf 2.3 died, which tables do
//   spot       not know: a packet over column 3 is misrouted there         8 links   377 ns
//
// The published figures serve only as a reference for the simulated ones.
#pragma once

#include "tools/simulator/experiment/experiment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::simulator::experiment {

struct ProbedLatency {
  std::string name;
  std::string route; ///< "leaf0.0 - root1:0.0:0 - ...", with the virtual channel of each link
  std::uint32_t links = 0;
  double ns = 0;
  double published_ns = 0;
};

/// Uses the times of the experiment and its seed, and ignores the rest.
[[nodiscard]] std::vector<ProbedLatency> probe_latencies(const Experiment& experiment);

} // namespace tributary::simulator::experiment
