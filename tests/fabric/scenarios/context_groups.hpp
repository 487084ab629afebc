// Groups that share a tree, for scenarios: a division of its ids, and a group on each range.
#pragma once

#include "tests/fabric/run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tributary::fabric::context_groups {

/// On a tree of eight ids vectors travel in frames of 84 bytes, otherwise in wide ones.
inline VectorSetup on_tree_of(std::uint32_t slots, std::vector<HostIndex> hosts) {
  VectorSetup setup{.hosts = std::move(hosts)};
  setup.parameters.slots = slots;
  setup.parameters.payload = slots == reductions_per_tree ? 32 : 704;
  return setup;
}

/// In-switch results, which a group may lose for good where switches restart or its tree moves: it
/// ends with an error then, which a member that misses the root's notice detects on its own.
inline void use_in_switch_results(VectorSetup& setup, bool may_lose_results) {
  setup.parameters.in_switch = true;
  if (may_lose_results) {
    setup.may_end = true;
    setup.parameters.member_timeout_ns = seconds(8);
  }
}

/// The half, and the ranges of the rest, some of them divided (docs/protocol/contexts.md).
inline std::vector<Run::Context> ranges_of(std::uint32_t slots, Random& random) {
  std::vector<Run::Context> ranges{{ReductionId{0}, slots / 2}};
  const std::uint32_t full = slots == reductions_per_tree ? 1 : 8;
  for (std::uint32_t first = slots / 2; first < slots; first += full) {
    const std::uint32_t ids = full == 8 ? 8U >> random.below(3) : 1;
    for (std::uint32_t at = first; at < first + full; at += ids) {
      ranges.push_back({ReductionId{static_cast<std::uint8_t>(at)}, ids});
    }
  }
  return ranges;
}

inline std::vector<std::size_t> some_lengths(Random& random, std::size_t count) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    lengths.push_back(1 + random.below(std::max<std::size_t>(2000U >> random.below(12), 1)));
  }
  return lengths;
}

/// All ranges of a tree in use, with vectors of other lengths in each. `generations`: groups that
/// have a range one after the other, each as soon as all members are done with the one before.
inline std::vector<VectorGroup*> fill(Run& run, VectorSetup setup, std::size_t operations,
                                      int generations = 1) {
  std::vector<VectorGroup*> groups;
  for (const Run::Context& range : ranges_of(setup.parameters.slots, run.random())) {
    setup.after = nullptr;
    for (int generation = 0; generation < generations; ++generation) {
      setup.lengths = some_lengths(run.random(), operations);
      setup.in_flight = 1 + run.random().below(3);
      setup.parameters.first_sequence =
          SequenceNumber{static_cast<std::uint32_t>(run.random().below(usable_sequences))};
      groups.push_back(&run.add_context(groups.empty() ? nullptr : groups.front(), setup, range));
      setup.after = groups.back();
    }
  }
  return groups;
}

inline bool all_complete(const std::vector<VectorGroup*>& groups) {
  return std::ranges::all_of(groups, [](const auto* group) { return group->complete(); });
}

/// Each host moves all these groups to the tree, at a time of its own within `within_ns`.
inline void move_all(Run& run, const std::vector<VectorGroup*>& groups, TreeNumber tree,
                     std::uint64_t within_ns) {
  for (std::uint32_t rank = 0; rank < groups.front()->size(); ++rank) {
    const TimeNs at = run.fabric().now() + run.random().between(microseconds(50), within_ns);
    for (VectorGroup* const group : groups) {
      group->move(rank, {.at = at, .tree = tree});
    }
  }
}

} // namespace tributary::fabric::context_groups
