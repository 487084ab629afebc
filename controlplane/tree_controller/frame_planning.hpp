// The wide frames of a group's trees: decided when they are first planned, and constant for the
// group_trees of the group (docs/protocol/groups.md, "Wide frames").
//
// The members and the manager's file have set the limits; the switches on the trees, and the memory
// of each, are added here. Where a switch has no room for the tree's place, slots are halved down
// to `least_halved`; if that is not enough, the group runs without wide frames. In both cases the
// note names the holders of the memory. Jobs share it: a job that has a place in a switch leaves an
// eighth of the memory there to jobs that have none, as long as there are some.
//
// Trees that are recomputed, after a fault or for a better path, keep the group's wide frames,
// because its members cannot change them: they avoid switches without room, and if no path is left,
// the group waits for one.
//
//   routes.in_switch = frames.agreed_in_switch(group, trees).in_switch;    when first planned
//   routes.frames = frames.agreed_frames(group, in_switch, trees).frames;
//   frames.hold(group, group_trees);                                       they are to be installed
//   frames.commit(group);                                                  in force everywhere
//   frames.drop(group);                                                    removed
//
// Pure.
#pragma once

#include "controlplane/fabric_controller/switch_table.hpp"
#include "controlplane/group/in_switch_choice.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/group/wide_frames_choice.hpp"
#include "controlplane/multicast/tree.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/trees/planned_tree.hpp"
#include "controlplane/trees/tree_states.hpp"
#include "controlplane/trees/wide_memory.hpp"
#include "controlplane/turns/events.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::tree_controller {

class FramePlanning {
public:
  struct Rooms {
    const topology::Graph& graph;
    const fabric_controller::SwitchTable& switches;
    group::Registry& registry;
    const trees::TreeStates& states;
    trees::WideMemory& memory;
    turns::Events& events;
  };
  explicit FramePlanning(const Rooms& rooms) : rooms_(rooms) {}

  // ---- a group's first trees ----

  /// The wide frames of a group with these first trees, and why not more. `in_switch`: in-switch
  /// results.
  [[nodiscard]] group::WideFramesChoice
  agreed_frames(const group::Group& group, bool in_switch,
                std::span<const trees::PlannedTree> trees) const;
  /// Whether a group with these first trees has in-switch results, and why not. Unless requested,
  /// they must not reduce the group's wide frames.
  [[nodiscard]] group::InSwitchChoice
  agreed_in_switch(const group::Group& group, std::span<const trees::PlannedTree> trees) const;
  /// Whether any member of a group with these first trees may multicast on them.
  [[nodiscard]] bool agreed_shared(const group::Group& group,
                                   std::span<const trees::PlannedTree> trees) const;
  /// Sends an event: the group has less than it would with more memory in switches.
  void report_lack_of_room(const group::Group& group);
  /// A switch had less room than known: the group gets less, unless its members may already know
  /// what it has.
  [[nodiscard]] bool narrow_after_refusal(const group::Group& group, const std::string& refusal);

  // ---- places in switches' memory ----

  void hold(const group::Group& group, const trees::GroupTrees& group_trees);
  void commit(const group::Group& group);
  void drop(const group::Group& group);

  // ---- trees that exist, or are recomputed ----

  /// The wide frames of the group's tree with these parts.
  [[nodiscard]] records::WideFrames frames_on(const group::Group& group,
                                              std::span<const multicast::TreePart> parts) const;
  /// Why a switch on it cannot hold this tree, with the group's wide frames; "" when all can.
  [[nodiscard]] std::string why_not_carried(const group::Group& group, std::size_t index,
                                            std::span<const multicast::TreePart> parts) const;
  /// Whether all switches that have connected support the group's wide frames.
  [[nodiscard]] bool knows_wide_frames(const group::Group& group,
                                       std::span<const multicast::TreePart> parts) const;
  /// A load that makes the planner avoid switches without room for the group's frames: adopt it
  /// during planning.
  [[nodiscard]] multicast::Tree weight_of_switches_without_room(const group::Group& group) const;

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  /// Its memory size, and the holders. `kept`: bytes of the free ones that are for others.
  [[nodiscard]] std::string memory_text(topology::SwitchId at, std::uint64_t kept = 0) const;
  /// Bytes that a new group of this job leaves for other jobs there.
  [[nodiscard]] std::uint64_t kept_for_others(std::string_view job, topology::SwitchId at) const;
  /// A switch without room for the places of these trees of a new group of this job, besides all
  /// that it holds.
  [[nodiscard]] std::optional<topology::SwitchId>
  without_room(std::string_view job, const records::WideFrames& frames, bool in_switch,
               std::span<const trees::PlannedTree> trees) const;
  /// Parts with a place in their switch's memory.
  [[nodiscard]] static std::vector<multicast::TreePart>
  occupying(std::span<const multicast::TreePart> parts);
  [[nodiscard]] std::string why_not_carried(const group::Group& group, TreeNumber tree,
                                            topology::SwitchId at,
                                            const records::WideFrames& place) const;
  /// Whether a tree of the group that is shared cannot lead over this switch.
  [[nodiscard]] bool lacks_shared_frames(const group::Group& group, topology::SwitchId at) const {
    return group.frames.shared && rooms_.switches.was_heard(at) &&
           !rooms_.switches[at].limits.shared();
  }

  Rooms rooms_;
};

} // namespace tributary::tree_controller
