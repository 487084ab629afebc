// Time of an allreduce among hosts, message by message.
//
// A rank begins a step when it has sent and received what the previous one required; there is no
// other synchronisation. Its processor sends first and then receives; frames of a message leave
// while later ones are prepared, and are processed while later ones arrive:
//
//   sending    processor: message + frames x frame + bytes x byte, the wire after the first frame
//   path       each link a frame's time again, its latency, and each switch's
//   receiving  processor: wakes if it waited, then the same, and the addition
//
// Messages of one step share links and switches max-min fairly (fair_rates.hpp), at rates that last
// for the step. So it ignores: that a message speeds up when another of its step ends, or meets one
// of another step; queues that build up, and losses. Time: steps x ranks, and for each set of pairs
// the rates once.
#pragma once

#include "tools/simulator/allreduce/costs.hpp"
#include "tools/simulator/allreduce/paths.hpp"
#include "tools/simulator/allreduce/schedule.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace tributary::simulator::allreduce {

struct HostTiming {
  double ns = 0;               ///< until the last rank has the result
  std::uint64_t messages = 0;  ///< all ranks'
  std::uint64_t bytes = 0;     ///< bytes of vector that all ranks sent
  std::uint64_t most_sent = 0; ///< bytes sent by one rank
  double slowest_share = 1;    ///< least rate of a message, over the link's
  friend bool operator==(const HostTiming&, const HostTiming&) = default;
};

/// `vector_bytes` is a multiple of eight.
[[nodiscard]] HostTiming run_host_algorithm(HostAlgorithm algorithm, const Paths& paths,
                                            std::span<const topology::HostId> ranks,
                                            std::uint64_t vector_bytes, const Costs& costs,
                                            const std::function<bool()>& stop);

} // namespace tributary::simulator::allreduce
