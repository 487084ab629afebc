// Improves working trees when the fabric is quiet: twins that share links or switches without need
// since a recovery, trees that are higher than necessary, and trees over the fullest links. A tree
// is moved under its number, the new before the old (controlplane/trees/order.hpp), so that its
// group keeps reducing.
//
// Every move decreases one measure and increases at most lesser ones: first what twins share, then
// heights, then the largest load. So the moves terminate.
//
//   rebalance.ask(reply, dry_run);        an administrator; answered in the next turn
//
// The manager also does this by itself, after a quiet period of topology and groups.
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/fabric_controller/switch_table.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/tree_controller/admission.hpp"
#include "controlplane/tree_controller/frame_planning.hpp"
#include "controlplane/tree_controller/tree_control.hpp"
#include "controlplane/tree_controller/tree_layout.hpp"
#include "controlplane/tree_controller/tree_planner.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/tree_states.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/replies.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::tree_controller {

class Rebalance final : public turns::Controller {
public:
  struct Rooms {
    turns::Environment& environment;
    turns::ManagerClock& clock;
    const fabric_controller::SwitchTable& switches;
    const group::Registry& registry;
    trees::TreeStates& states;
    trees::EngineLoads& engines;
    turns::Events& events;
    turns::Replies& replies;
    const Admission& admission;
    const FramePlanning& frames;
    TreePlanner& planner;
    TreeLayout& layout;
    TreeControl& trees; ///< passes moved trees to their groups and switches
  };
  /// `quiet_ns`: length of the quiet period before trees are moved; 0: on request only.
  Rebalance(const Rooms& rooms, std::uint64_t quiet_ns) : rooms_(rooms), quiet_ns_(quiet_ns) {}

  void ask(api::Reply reply, bool dry_run);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "moving trees"; }
  [[nodiscard]] std::span<const std::string_view> after() const override;
  void fabric_changed() override { later(); }
  void acted(const group::Action& action) override;
  void begin(const turns::Turn& turn) override;
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& /*turn*/) const override { return at_; }

private:
  /// The current and the better trees of a group; the planner and the loads of engines count the
  /// better ones.
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
  void as_asked();
  /// Does nothing while the store fails, or switches are waited for.
  void by_itself(bool may_move);
  void later();
  [[nodiscard]] bool may_move(const group::Group& group) const;
  [[nodiscard]] std::optional<std::vector<trees::PlannedTree>>
  fitted(const group::Group& group, std::vector<multicast::Tree> trees,
         std::span<const topology::HostId> hosts);
  [[nodiscard]] std::optional<Improvement> improved(const group::Group& group);
  void relieve_fullest(const std::vector<const group::Group*>& movable, std::size_t most,
                       std::size_t attempts, std::vector<Improvement>& found);
  /// At most `most`, from at most this many groups; each must be applied or taken back.
  [[nodiscard]] std::vector<Improvement> find_improvements(std::size_t most, std::size_t attempts);
  void answer(Asked& asked);
  /// Undoes what it had begun.
  void broken_off(std::string_view why);
  void take_back(const Improvement& one);
  void apply(const Improvement& one);
  [[nodiscard]] boost::json::object json_of(const Improvement& one);

  Rooms rooms_;
  std::uint64_t quiet_ns_;
  std::vector<Asked> asked_;
  TimeNs at_ = never;
  group::GroupId from_{};  ///< where the search continues
  std::size_t tried_ = 0;  ///< groups examined since the last change
  bool has_ended_ = false; ///< all were examined, and none can be improved
};

} // namespace tributary::tree_controller
