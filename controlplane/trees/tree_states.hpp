// The states of one group's trees, one table:
//
//   wanted --plan--> planned --install--> installing --everywhere--> in_force
//                     ^   ^                 |                           |
//                     |   |               failed                      torn
//                     |   |                 v                           v
//                     |   +-------plan-- retrying          +---plan-- broken
//                     +------------------------------------+
//
//   any --remove--> removing --removed--> absent
//
// All trees of a group (one, or two that are twins) share a state: they are planned together, and
// reported to the group together. docs/protocol/groups.md has the table; the group room has its own
// table for its reaction.
//
//   TreeStates states;
//   states.apply(group, Event::want, now);        -> wanted; due immediately
//   states.at(group).trees = trees;               the planner's result
//   states.apply(group, Event::plan, now);        -> planned; due immediately
//   states.wait_for(group, transactions);         earlier ones no longer count
//   states.apply(group, Event::install, now);     -> installing
//   if (auto group = states.ended(transaction, "")) ...    the last of them has ended
//   while (auto group = states.take_due(now)) ... the state determines the next action
//
// Pure.
#pragma once

#include "controlplane/records/records.hpp"
#include "controlplane/transaction/subject.hpp"
#include "controlplane/trees/planned_tree.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::trees {

using records::GroupId;
using transaction::TransactionNumber;

enum class State : std::uint8_t {
  absent,     ///< no trees, and none requested
  wanted,     ///< to be planned, or waiting for a path
  planned,    ///< to be sent to the switches
  installing, ///< sent, or some switches are out of sync
  in_force,   ///< every switch has its part
  broken,     ///< a link or a member on their path is gone; to be planned again
  retrying,   ///< switches refused; to be sent again
  removing,
};
inline constexpr std::size_t state_count = 8;

enum class Event : std::uint8_t {
  want,       ///< the group asks for trees
  restored,   ///< the store has some, and switches hold them
  plan,       ///< the planner found trees that the group accepts, or no new plan is needed
  no_path,    ///< no path exists now
  install,    ///< transactions have begun
  failed,     ///< the last of them ended, and not all were committed
  everywhere, ///< all were committed, and no switch is out of sync
  torn,       ///< they do not reach all members any more
  remove,     ///< the group's end
  removed,    ///< no switch has any
};
inline constexpr std::size_t event_count = 10;

/// "in_force"
[[nodiscard]] std::string_view name_of(State state);
[[nodiscard]] std::string_view name_of(Event event);

/// The next state; nothing when the event changes nothing: it is late, or early.
[[nodiscard]] std::optional<State> transition(State state, Event event);

/// The trees of one group.
struct GroupTrees {
  State state = State::absent;
  TimeNs due = never;              ///< time of the next action, by the state
  std::vector<PlannedTree> trees;  ///< their loads are counted; none before planning
  std::vector<std::string> shared; ///< names of switches and links that twins share
  std::string postponed;           ///< why planning has to wait
  std::set<TransactionNumber> open;
  std::string failure;  ///< of the first transaction that was not committed
  bool no_room = false; ///< a switch refused for want of room, and less may fit
};

class TreeStates {
public:
  /// Null when it is absent.
  [[nodiscard]] const GroupTrees* find(GroupId group) const;
  [[nodiscard]] State state(GroupId group) const;
  [[nodiscard]] const std::map<GroupId, GroupTrees>& all() const { return states_; }
  [[nodiscard]] const std::set<GroupId>& in_state(State state) const;
  /// Access for changes. Creates it, absent, if necessary.
  [[nodiscard]] GroupTrees& at(GroupId group) { return states_[group]; }

  /// Applies the table; false when it has no transition. What was due is no longer due, except that
  /// `want` and `plan` are due immediately.
  bool apply(GroupId group, Event event, TimeNs now);
  void set_due(GroupId group, TimeNs at);
  /// The earliest group that is due; it is not due any more.
  [[nodiscard]] std::optional<GroupId> take_due(TimeNs now);
  [[nodiscard]] TimeNs next_due() const { return due_.empty() ? never : due_.begin()->first; }

  /// Waits for these transactions from now on, and no others. For installing and removing.
  void wait_for(GroupId group, const std::vector<TransactionNumber>& transactions);
  /// Groups that are installing and wait only for switches that are out of sync.
  [[nodiscard]] std::vector<GroupId> out_of_sync() const {
    return {out_of_sync_.begin(), out_of_sync_.end()};
  }
  /// The group of the transaction; nothing once it has ended.
  [[nodiscard]] std::optional<GroupId> owner(TransactionNumber transaction) const;
  /// `failure` is "" when it was committed. The group, if no other transaction is pending.
  [[nodiscard]] std::optional<GroupId> ended(TransactionNumber transaction,
                                             const std::string& failure);

private:
  void note_out_of_sync(GroupId group, const GroupTrees& group_trees);

  std::map<GroupId, GroupTrees> states_;
  std::map<TransactionNumber, GroupId> owners_;
  std::set<std::pair<TimeNs, GroupId>> due_;
  std::array<std::set<GroupId>, state_count> by_state_;
  std::set<GroupId> out_of_sync_;
};

} // namespace tributary::trees
