// FULB-MC: bottom-up, by the least loaded port.
//
//   root = the least loaded switch of those in the middle          (root rotation: root_choice.hpp)
//   mark the root
//   for each member:
//     v = the member's switch
//     while v is not marked:
//       mark v
//       of the ports of v that lead one hop nearer to the root, take the one whose link carries
//       the fewest trees, the lowest of those                          (link rotation)
//       v = the switch there
//
// A walk stops at the first switch of the tree, so every link of the tree is chosen once: at most
// members times height times ports, a thousand times less than a search of the whole fabric. The
// drawback is that all information is local: a port may be free while links behind it are full.
// Where the first step up leaves no choice later (trimmed trees), loads pile up on the links above.
//
// The load of a link grows by each tree, after the tree is complete: within one tree every switch
// is left once, so no choice sees the tree's own links.
//
// The two readings of a switch's load are `RootRule::least_rooted` and `least_through`.
//
// Source: Chen et al., FULB-MC.
#pragma once

#include "bench/algorithms/root_choice.hpp"
#include "controlplane/multicast/comparison/comparison.hpp"

#include <vector>

namespace tributary::multicast::published {

class Fulb final : public comparison::RootedAlgorithm {
public:
  Fulb(Distances& distances, RootRule rule, RootScan scan)
      : distances_(&distances), root_choice_(distances, rule, scan),
        marks_(distances.view().switch_count()) {}

  [[nodiscard]] std::optional<SwitchId> choose_root(std::span<const SwitchId> members,
                                                    const Loads& loads) override {
    return root_choice_.choose(members, loads);
  }
  [[nodiscard]] Tree grow(SwitchId root, std::span<const SwitchId> members,
                          const Loads& loads) override;

private:
  [[nodiscard]] const Arc& least_loaded(SwitchId at, const std::uint8_t* to_root,
                                        const Loads& loads) const;

  Distances* distances_;
  RootChoice root_choice_;
  std::vector<std::uint32_t> marks_; ///< by switch: the last tree that contains it
  std::uint32_t tree_ = 0;
};

} // namespace tributary::multicast::published
