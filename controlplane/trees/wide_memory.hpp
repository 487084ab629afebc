// What each switch's memory for wide frames holds: a place for each tree that has some, of
// `WideFrames::bytes()` (docs/protocol/groups.md, "Wide frames").
//
//   memory.hold(tree, parts, frames);     from when a tree is planned
//   memory.settle(tree, parts);           in force everywhere: it is nowhere else
//   memory.drop(tree);                    no switch has it any more
//
// A tree that is led over other switches holds its place in the old ones until the new parts are in
// force, as it does there. What a switch's own file has is told by its hello. So what is planned by
// this is refused by a switch only where it holds something that nobody knows of, such as a tree
// that it was to give up while it was away.
//
// Pure.
#pragma once

#include "controlplane/multicast/tree.hpp"
#include "controlplane/records/wide_frames.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace tributary::trees {

using records::WideFrames;

class WideMemory {
public:
  struct Holding {
    TreeNumber tree;
    WideFrames frames;
    bool from_file = false; ///< the switch's own
  };

  /// Does nothing for frames that are not wide. `frames.turns` is for the part at depth 0.
  void hold(TreeNumber tree, std::span<const multicast::TreePart> parts, const WideFrames& frames);
  void settle(TreeNumber tree, std::span<const multicast::TreePart> parts);
  void drop(TreeNumber tree);
  /// What the switch's own file has, in place of what it had.
  void set_own(topology::SwitchId at, std::span<const std::pair<TreeNumber, WideFrames>> trees);

  [[nodiscard]] std::uint64_t used_bytes(topology::SwitchId at) const;
  /// Of this tree, there.
  [[nodiscard]] std::uint64_t held_by(TreeNumber tree, topology::SwitchId at) const;
  /// All of them, the largest first.
  [[nodiscard]] std::vector<Holding> holders(topology::SwitchId at) const;

private:
  struct Switch {
    std::map<TreeNumber, Holding> places;
    std::uint64_t used_bytes = 0;
  };
  void put(topology::SwitchId at, const Holding& holding);
  void take(topology::SwitchId at, TreeNumber tree);

  std::map<topology::SwitchId, Switch> switches_;
  std::map<TreeNumber, std::set<topology::SwitchId>> where_; ///< not of the switches' own
};

} // namespace tributary::trees
