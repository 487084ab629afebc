// The trees of a group: one, or two that share as little as possible (twin trees).
//
// With twins every reduction runs on both trees at the same time, and the first complete result
// wins. A frame, a link or a switch that one tree loses then costs nothing: the other tree does not
// wait for it. Only what both lose is asked for again, by the root's retry as on a single tree.
//
//              tree 0                              tree 1
//   root  ---- opens s ------------------------->  opens s        the same sequence on both
//   leaf       hears s: contributes under s        hears s: contributes under s
//   root  <--- count full: this result wins        count 14 of 16
//   root  ---- opens s + 1, result of s -------->  opens s + 1, result of s
//   leaf       completes                           knows the result, hears that s + 1 is open
//   root                                           what still arrives for s is `lagging`
//
// The rules, in addition to those of root.hpp and leaf.hpp, which hold for each tree:
//
//   1. Both trees have one root and one sequence for each reduction id. The root opens a sequence
//      on both at the same time, whatever the reason. So the winner's sequence is the result's on
//      either tree, and its arm advances the engines of the lagging tree: what they held of the old
//      sequence is void, what still travels is older than their sequence and dropped.
//   2. The root gathers on each tree separately and never sums across trees. So nothing is
//      counted twice, and the signatures of one tree alone must include every member.
//   3. A full count that is not every member once invalidates that tree for the sequence; the other
//      one may still complete it. When both are invalid the root asks again immediately.
//   4. A leaf contributes to a sequence on the trees on which it heard that sequence open, once
//      each. So no contribution overtakes the arm of its own tree, and a tree that is cut gets
//      nothing.
//   5. A result counts from whichever tree; the second copy finds the piece complete.
//   6. Requests for a lost result go up both trees; the root answers one of them.
//   7. A leaf that leaves sends its leave frame on each tree on which it hears the last result, and
//      waits for the second one not longer than a retry interval: a dead tree delays no leaf by
//      more. The root leaves when the leave frames of one tree are complete.
//
// The winning tree decides the order of additions: with twins, sums that round may differ from one
// run to the next. All members get the same result, and reproducible sums do not depend on it.
//
// Costs: twice the frames, table entries and descriptors. Where the trees share a switch with the
// same port upward (the one next to the root, always) its engine needs 16 descriptors to hold all
// eight reductions of both; one that has eight passes the rest on to the root unreduced.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary::collective {

inline constexpr std::size_t max_group_trees = 2;

/// Index of a group's tree, 0 or 1.
using TreeIndex = std::size_t;

/// A subset of a group's trees.
class TreeSet {
public:
  void insert(TreeIndex tree) { bits_ = static_cast<std::uint8_t>(bits_ | 1U << tree); }
  void clear() { bits_ = 0; }
  [[nodiscard]] bool contains(TreeIndex tree) const { return (bits_ >> tree & 1U) != 0; }
  [[nodiscard]] bool empty() const { return bits_ == 0; }
  /// Whether these are the first `count` trees.
  [[nodiscard]] bool is_all_of(std::size_t count) const { return bits_ == (1U << count) - 1; }

private:
  std::uint8_t bits_ = 0;
};

} // namespace tributary::collective
