// Time of a broadcast, an allgather or a reduce-scatter in the network: chunks of blocks in
// windows, whose acknowledgements the network reduces (docs/protocol/shared-frames.md), frame by
// frame.
//
// The tree, its switches and its hosts are those of tree_run.hpp, with in-switch results: the root
// host is a member as any other.
//
//   broadcast, allgather   in a window each owner sends its chunks, which switches copy to all
//                          others; who has all of them acknowledges
//   reduce-scatter         the root arms the pieces of a window; all contribute each piece, whose
//                          result goes to its owner alone; who has those of its own acknowledges
//
// The acknowledgements go up and are reduced, and the result of a window, multicast by the switch
// next to the root, lets the window after the next `windows - 1` begin. Chunks of a window that
// leave hosts of one switch at the same time are simulated as one batch. A host has done when it
// has all data, and a sender of more than `eager` bytes when its last window is acknowledged.
// Ignored: losses, other traffic, ranks that are late.
#pragma once

#include "tools/simulator/allreduce/call.hpp"
#include "tools/simulator/allreduce/tree_run.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace tributary::simulator::allreduce {

/// The call is not an allreduce; a broadcast is from rank 0. `vector_bytes` is that of all blocks.
/// Throws AllreduceError when no tree exists.
[[nodiscard]] TreeTiming run_in_windows(Call call, const Paths& paths,
                                        std::span<const topology::HostId> ranks,
                                        std::uint64_t vector_bytes, const Costs& costs,
                                        std::uint64_t seed, const std::function<bool()>& stop);

} // namespace tributary::simulator::allreduce
