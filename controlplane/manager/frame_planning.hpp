// What a group's trees have of wide frames: agreed on when they are planned first, and kept as long
// as the group lives (docs/protocol/groups.md, "Wide frames").
//
// The members and the manager's file have said what they would have; here come the switches on the
// trees, and the memory that each of them has for it. Where a switch has no room for the tree's
// place, slots are halved down to `least_halved`; where that does not help, the group has no wide
// frames at all, and runs. Either way it says who holds the memory.
//
// Trees that are laid anew, after a fault or because they could be better, keep what the group has,
// for its members cannot change it: they are led around switches that have no room, and where there
// is no way around, the group waits for one.
//
//   routes.turned = frames.agreed_turn(group, trees).turned;    when they are planned first
//   routes.frames = frames.agreed_frames(group, turned, trees).frames;
//   frames.hold(group, life);                                   they are to be installed
//   frames.settle(group);                                       in force everywhere
//   frames.drop(group);                                         gone
//
// Pure.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/group/turn_wish.hpp"
#include "controlplane/group/wide_wish.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/switch_table.hpp"
#include "controlplane/multicast/tree.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/life.hpp"
#include "controlplane/trees/planned_tree.hpp"
#include "controlplane/trees/wide_memory.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::manager {

class FramePlanning {
public:
  struct Rooms {
    const topology::Graph& graph;
    const SwitchTable& switches;
    group::Registry& registry;
    const transaction::Coordinator& coordinator;
    const trees::Lives& lives;
    trees::WideMemory& memory;
    Events& events;
  };
  explicit FramePlanning(const Rooms& rooms) : rooms_(rooms) {}

  // ---- a group's first trees ----

  /// What a group gets whose first trees these are, and why not more. `turned`: so is its tree.
  [[nodiscard]] group::WideWish agreed_frames(const group::Group& group, bool turned,
                                              std::span<const trees::PlannedTree> trees) const;
  /// Whether a group whose first trees these are has one that is turned round, and why not.
  /// Where nobody has asked for it, it must not cost the group any of its wide frames.
  [[nodiscard]] group::TurnWish agreed_turn(const group::Group& group,
                                            std::span<const trees::PlannedTree> trees) const;
  /// An event: it has less than it would have with more memory in switches.
  void tell_short_of_room(const group::Group& group);
  /// A switch had less room than was known: the group gets less, if its members have not been told
  /// yet what it has.
  [[nodiscard]] bool narrow_after_refusal(const group::Group& group, const std::string& refusal);

  // ---- places in switches' memory ----

  void hold(const group::Group& group, const trees::Life& life);
  void settle(const group::Group& group);
  void drop(const group::Group& group);

  // ---- trees that are there, or are laid anew ----

  /// What the group's tree of these parts has; `turns` where its switch next to the root can.
  [[nodiscard]] records::WideFrames frames_on(const group::Group& group,
                                              std::span<const multicast::TreePart> parts) const;
  /// Whether switches were told to turn the tree round where they can, and not where they cannot.
  [[nodiscard]] bool is_told_to_turn(const group::Group& group, std::size_t index,
                                     std::span<const multicast::TreePart> parts) const;
  /// Why a switch on it cannot have this tree of the group's, as wide as it is; "" when all can.
  [[nodiscard]] std::string why_not_carried(const group::Group& group, std::size_t index,
                                            std::span<const multicast::TreePart> parts) const;
  /// Whether all switches that were heard know wide frames such as the group's.
  [[nodiscard]] bool knows_wide_frames(const group::Group& group,
                                       std::span<const multicast::TreePart> parts) const;
  /// A load by which the planner keeps off switches that have no room for the group's frames: to be
  /// adopted while it plans.
  [[nodiscard]] multicast::Tree weight_of_switches_without_room(const group::Group& group) const;

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  /// How much memory it has, and who holds it.
  [[nodiscard]] std::string memory_text(topology::SwitchId at) const;
  /// A switch that has no room for the places of these trees, beside all that it holds.
  [[nodiscard]] std::optional<topology::SwitchId>
  without_room(const records::WideFrames& frames, bool turned,
               std::span<const trees::PlannedTree> trees) const;
  /// Those parts that have a place in their switch's memory.
  [[nodiscard]] static std::vector<multicast::TreePart>
  occupying(std::span<const multicast::TreePart> parts);
  [[nodiscard]] std::string why_not_carried(const group::Group& group, TreeNumber tree,
                                            topology::SwitchId at,
                                            const records::WideFrames& place) const;

  Rooms rooms_;
};

} // namespace tributary::manager
