// MINIHOP-MC: the lowest port on a shortest path.
//
// OpenSM's method for most of its engines. The members are split at the root over its ports: each
// uses the lowest-numbered port that begins a shortest path to it. Each neighbour splits its
// members in the same way, until every member is reached.
//
//   root {a b c d}           port 1 -> x {a c}      port 1 -> a
//                                                   port 4 -> c
//                            port 3 -> y {b d}      ...
//
// The path to one member does not depend on the others, so the tree is the union of such paths,
// each walked separately here. It has no loop: if two paths parted at u and met again at v, both
// would be shortest from u to v, and each would have taken the lowest such port at u: the same.
//
// It ignores loads. Neighbouring groups get the same root and the same ports, and loads pile up:
// 100 where 2 is possible. "New" is the same with a root choice by the load of switches
// (root_choice.hpp), which balances only the roots.
//
// Source: Chen et al., section on MINIHOP-MC; OpenSM's behaviour, seen in its dumped tables. Cost:
// members times height times ports.
#pragma once

#include "bench/algorithms/root_choice.hpp"
#include "controlplane/multicast/comparison/comparison.hpp"

namespace tributary::multicast::published {

class Minihop final : public comparison::RootedAlgorithm {
public:
  Minihop(Distances& distances, RootRule rule, RootScan scan)
      : distances_(&distances), root_choice_(distances, rule, scan),
        reached_(distances.view().switch_count()) {}

  [[nodiscard]] std::optional<SwitchId> choose_root(std::span<const SwitchId> members,
                                                    const Loads& loads) override {
    return root_choice_.choose(members, loads);
  }
  [[nodiscard]] Tree grow(SwitchId root, std::span<const SwitchId> members,
                          const Loads& loads) override;

private:
  Distances* distances_;
  RootChoice root_choice_;
  std::vector<std::uint32_t> reached_; ///< by switch: the last tree that contains it
  std::uint32_t tree_ = 0;
};

} // namespace tributary::multicast::published
