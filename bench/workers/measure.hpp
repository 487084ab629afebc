// The cost of a round of reductions for a switch: arms down all trees, then one contribution of
// each leaf to each reduction, then the results.
#pragma once

#include "bench/workers/star.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::bench {

/// Cost of one half of a round: the arms, or the contributions.
struct Cost {
  std::vector<std::uint64_t> cycles; ///< by worker: in iterations that did something
  std::uint64_t wall_cycles = 0;     ///< until the last frame had left; of threads only
  std::uint64_t handed_over = 0;     ///< items in the rings between workers
  std::uint64_t subtotals = 0;       ///< of those
  std::uint64_t dropped = 0;

  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] std::uint64_t busiest() const;
};

struct Round {
  Cost arms;
  Cost contributions;
  std::size_t results = 0; ///< frames at the root
  std::size_t whole = 0;   ///< of these, complete ones
};

/// All workers on the calling thread, each until it has no more to do, then in turn what they
/// handed over: in its turn each has the caches for itself, as on a core of its own. A frame that
/// crosses between workers costs no more here than one that does not, and has to be counted.
Round simulate(Star& star);

/// Some rounds with each worker on a thread and a processor of its own, concurrently. It is the
/// worker's NIC as well: puts what the worker receives and takes what it sent, between the halves
/// of a round, so that no frame is in another processor's cache.
std::vector<Round> run_threads(Star& star, std::size_t count);

} // namespace tributary::bench
