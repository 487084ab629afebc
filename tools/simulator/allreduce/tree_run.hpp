// Time of an allreduce in the network: pieces of a vector in wide frames, up a multicast tree and
// down again, frame by frame.
//
// The tree is the one that the control plane plans for the job (multicast::Planner), rooted at the
// first rank's host. A member has as many pieces in flight as the protocol lets it: at first 32, or
// the group's slots if those are fewer, one more for each window of completions. The result of a
// piece arms the engines for the next one of its slot, so no other frame is needed.
//
//   host       processor: adds nothing, sends; receives results, sends what the window allows
//   switch     one queue for what its cores do: contributions, copies of results; a reduction that
//              is full leaves by the link to the parent
//   root       adds its own contribution, and sends the result back
//
// Hosts of one switch are alike and are simulated as one, whose frames arrive all at the same time;
// they have the result when the last of them has. Ignored: losses, other traffic, ranks that are
// late.
#pragma once

#include "tools/simulator/allreduce/costs.hpp"
#include "tools/simulator/allreduce/paths.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace tributary::simulator::allreduce {

struct TreeTiming {
  double ns = 0; ///< until the last rank has the result
  std::uint64_t pieces = 0;
  std::uint64_t messages = 0;  ///< frames that hosts sent: contributions, and the root's results
  std::uint64_t bytes = 0;     ///< bytes of vector in them
  std::uint64_t most_sent = 0; ///< bytes sent by one rank
  std::uint32_t switches = 0;  ///< switches of the tree
  std::uint32_t height = 0;    ///< links from its root host's switch to the farthest
  double busiest_switch = 0;   ///< share of the time for which its cores worked
  friend bool operator==(const TreeTiming&, const TreeTiming&) = default;
};

/// Throws AllreduceError when no tree exists. `vector_bytes` is a multiple of eight.
[[nodiscard]] TreeTiming run_in_network(const Paths& paths, std::span<const topology::HostId> ranks,
                                        std::uint64_t vector_bytes, const Costs& costs,
                                        std::uint64_t seed, const std::function<bool()>& stop);

} // namespace tributary::simulator::allreduce
