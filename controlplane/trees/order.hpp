// The order in which the switches of a tree are updated, so that no frame meets an incomplete tree,
// and none can loop.
//
// Frames go up by the parent port and are copied down only from there: an arm that the root host
// sends reaches a switch when all switches above it lead down to it. So a tree is built from the
// leaves up, with the root's switch last, and removed from the root's switch down. Switches of one
// stage are updated concurrently and commit in any order; a stage begins when the previous one is
// done.
//
//   a tree is made     its switches by depth, the deepest first
//   a tree is removed  its switches by depth, the root's first
//   a tree is changed, the new before the old is removed (make before break):
//      1. switches that are only in the new tree, the deepest first
//      2. switches in both whose entry changes, the deepest first
//      3. the root's switch of the new tree
//      4. switches that are only in the old tree, the highest first
//
// While a tree is changed some switches point up along the old tree and some along the new one. A
// frame could then loop forever: old tree r-a-b, new tree r-b-a; a is updated already, and points
// to b, which still points to a. Whether a stage can cause this is decided exactly: during a stage
// each of its switches may have the old pointer or the new one, earlier ones have the new, later
// ones the old, and a loop uses one pointer of each of its switches, a new one among them. (A
// switch of unknown state may point anywhere.) No other loop exists downward: a copy goes from a
// switch to those whose parent port leads back to it. If some stage could cause a loop, the old
// tree is removed first and the new one made afterwards; old and new pointers then never meet.
//
// Pure.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tributary::trees {

using topology::SwitchId;

/// What a switch holds of the tree, or may hold.
struct HeldPart {
  SwitchId at;
  /// The switches its parent port may lead to: none at the root host, two while it is in doubt, all
  /// when its state is unknown.
  std::vector<SwitchId> up;
  std::uint32_t depth = 0;
  /// Whether it can be updated. An unreachable one keeps what it holds.
  bool reachable = true;
};

/// What a switch is to hold.
struct WantedPart {
  SwitchId at;
  std::optional<SwitchId> up;
  std::uint32_t depth = 0;
  /// It holds something else, or nothing, and has to be updated.
  bool changes = true;
};

/// One update of one switch.
struct Move {
  SwitchId at;
  bool removes = false;
  unsigned stage = 0; ///< 0, 1, ...
  friend auto operator<=>(const Move&, const Move&) = default;
};

struct Order {
  bool remove_first = false;
  std::vector<Move> moves; ///< by stage, then by switch
};

/// Nothing when the wanted parts form a loop, among themselves or with unreachable switches.
[[nodiscard]] std::optional<Order> order_moves(std::span<const HeldPart> held,
                                               std::span<const WantedPart> wanted);

/// The switches to which each one may send up.
using Pointers = std::map<SwitchId, std::vector<SwitchId>>;

/// Whether some path along the pointers returns to its start.
[[nodiscard]] bool has_loop(const Pointers& pointers);

} // namespace tributary::trees
