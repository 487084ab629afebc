// Trees that are whole and could be better are laid again when nothing else happens: twins that
// share what they need not share since something came back, trees that are higher than they have to
// be, and trees over the fullest links. A tree is moved under its number, the new before the old
// (controlplane/trees/order.hpp), so that its group reduces on.
//
// Every move makes something smaller that no other move makes larger again but for a smaller thing:
// what twins share, then heights, then the largest load. So moving ends by itself.
//
//   rebalance.ask(reply, dry_run);        an administrator; answered in the next turn
//   rebalance.as_asked();                 in a turn
//   rebalance.by_itself(may_move);        the same, once nothing has changed for a while
//   rebalance.later();                    the topology or the groups have changed
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/manager/admission.hpp"
#include "controlplane/manager/environment.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/frame_planning.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/replies.hpp"
#include "controlplane/manager/switch_table.hpp"
#include "controlplane/manager/tree_control.hpp"
#include "controlplane/manager/tree_layout.hpp"
#include "controlplane/manager/tree_planner.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/life.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::manager {

class Rebalance {
public:
  struct Rooms {
    Environment& environment;
    ManagerClock& clock;
    const SwitchTable& switches;
    const group::Registry& registry;
    trees::Lives& lives;
    trees::EngineLoads& engines;
    Events& events;
    Replies& replies;
    const Admission& admission;
    const FramePlanning& frames;
    TreePlanner& planner;
    TreeLayout& layout;
    TreeControl& trees; ///< which brings moved trees to their groups and switches
  };
  /// `quiet_ns`: how long nothing changes before trees are moved; 0: on request only.
  Rebalance(const Rooms& rooms, std::uint64_t quiet_ns) : rooms_(rooms), quiet_ns_(quiet_ns) {}

  void ask(api::Reply reply, bool dry_run);
  void as_asked();
  /// Not while nothing can be stored, or switches are waited for.
  void by_itself(bool may_move);
  void later();
  [[nodiscard]] TimeNs next_deadline() const { return at_; }

private:
  /// The trees of a group as they are and as they could be; the planner and the loads of engines
  /// carry the new ones.
  struct Improvement {
    group::GroupId group;
    std::vector<trees::PlannedTree> before;
    std::vector<trees::PlannedTree> after;
    std::string why;
  };
  struct Asked {
    api::Reply reply;
    bool dry_run = false;
  };
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }
  [[nodiscard]] bool may_move(const group::Group& group) const;
  [[nodiscard]] std::optional<std::vector<trees::PlannedTree>>
  fitted(const group::Group& group, std::vector<multicast::Tree> trees,
         std::span<const topology::HostId> hosts);
  [[nodiscard]] std::optional<Improvement> improved(const group::Group& group);
  void relieve_fullest(const std::vector<const group::Group*>& movable, std::size_t most,
                       std::size_t attempts, std::vector<Improvement>& found);
  /// At most so many, with at most so many groups looked at; each is to be applied or taken back.
  [[nodiscard]] std::vector<Improvement> find_improvements(std::size_t most, std::size_t attempts);
  void answer(Asked& asked);
  /// What it had begun is undone.
  void broken_off(std::string_view why);
  void take_back(const Improvement& one);
  void apply(const Improvement& one);
  [[nodiscard]] boost::json::object json_of(const Improvement& one);

  Rooms rooms_;
  std::uint64_t quiet_ns_;
  std::vector<Asked> asked_;
  TimeNs at_ = never;
  group::GroupId from_{};  ///< where looking goes on
  std::size_t tried_ = 0;  ///< groups looked at since something changed
  bool has_ended_ = false; ///< all were, and none can be better
};

} // namespace tributary::manager
