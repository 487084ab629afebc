// Allocation of each switch's memory for wide frames: a place of `WideFrames::bytes()` for each
// tree that has some (docs/protocol/groups.md, "Wide frames").
//
//   memory.hold(tree, parts, frames);     once a tree is planned
//   memory.commit(tree, parts);           in force everywhere: no other switch has it
//   memory.drop(tree);                    no switch has it any more
//
// A rerouted tree holds its place in the old switches until the new parts are in force, as the
// switches do. A switch's hello reports the trees of its own file. So a switch refuses a plan only
// where it holds a tree that is not recorded here, such as one that it was to remove while it was
// away.
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
    bool from_file = false; ///< from the switch's own file
  };

  /// No effect for frames that are not wide. `frames.in_switch` is for the part at depth 0.
  void hold(TreeNumber tree, std::span<const multicast::TreePart> parts, const WideFrames& frames);
  void commit(TreeNumber tree, std::span<const multicast::TreePart> parts);
  void drop(TreeNumber tree);
  /// The trees of the switch's own file; replaces the previous ones.
  void set_own(topology::SwitchId at, std::span<const std::pair<TreeNumber, WideFrames>> trees);

  [[nodiscard]] std::uint64_t used_bytes(topology::SwitchId at) const;
  /// Bytes that this tree holds there.
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
  std::map<TreeNumber, std::set<topology::SwitchId>> where_; ///< without the switches' own trees
};

} // namespace tributary::trees
