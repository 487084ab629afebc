// The life of one group's trees, one table:
//
//   wanted --plan--> planned --tell--> installing --everywhere--> in_force
//                     ^   ^              |                           |
//                     |   |            failed                      torn
//                     |   |              v                           v
//                     |   +----plan-- retrying          +---plan-- broken
//                     +---------------------------------+
//
//   any --remove--> removing --removed--> absent
//
// All trees of a group (one, or two that are twins) live together: they are planned at once, and
// the group is told of them as one thing. docs/protocol/groups.md has the table; what a group makes
// of it is the group room's own table.
//
//   Lives lives;
//   lives.apply(group, Event::want);             -> wanted; due at once
//   lives.plan(group, trees)                     what the planner has found
//   lives.tell(group, {transactions})            -> installing; what was open before does not count
//   switch (lives.ended(transaction, "")) ...    the last of them: committed, failed or removed
//   while (auto group = lives.take_due(now)) ... what is to be done is said by the state
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
  absent,     ///< there is nothing, and nobody asked
  wanted,     ///< to be planned, or waiting for a path
  planned,    ///< the switches are to be told
  installing, ///< they are told, or some of them are behind
  in_force,   ///< every switch has its part
  broken,     ///< a link or a member is not where they lead; to be planned anew
  retrying,   ///< switches refused; to be told again
  removing,
};
inline constexpr std::size_t state_count = 8;

enum class Event : std::uint8_t {
  want,       ///< the group asks for trees
  restored,   ///< the store has some, and switches hold them
  plan,       ///< there are some that the group takes, or they need not be planned anew
  no_path,    ///< there is none now
  tell,       ///< transactions have begun
  failed,     ///< the last of them ended, and not all were committed
  everywhere, ///< all were, and no switch is behind
  torn,       ///< they do not lead where they have to any more
  remove,     ///< the group's end
  removed,    ///< no switch has any
};
inline constexpr std::size_t event_count = 10;

/// "in_force"
[[nodiscard]] std::string_view name_of(State state);
[[nodiscard]] std::string_view name_of(Event event);

/// Where the event leads; none when it changes nothing: it comes late, or too early.
[[nodiscard]] std::optional<State> transition(State state, Event event);

/// The trees of one group.
struct Life {
  State state = State::absent;
  TimeNs due = never;              ///< when something is to be done, by the state
  std::vector<PlannedTree> trees;  ///< whose loads are carried; none before they are planned
  std::vector<std::string> shared; ///< names of switches and links that twins share
  std::string postponed;           ///< wanted, and this has to pass first
  std::set<TransactionNumber> open;
  std::string failure;  ///< of the first transaction that was not committed
  bool no_room = false; ///< a switch refused for want of room, and less might go
};

class Lives {
public:
  /// Null when it is absent.
  [[nodiscard]] const Life* find(GroupId group) const;
  [[nodiscard]] State state(GroupId group) const;
  [[nodiscard]] const std::map<GroupId, Life>& all() const { return lives_; }
  [[nodiscard]] const std::set<GroupId>& in_state(State state) const;
  /// To put trees into. Makes it, absent, when it is not there.
  [[nodiscard]] Life& at(GroupId group) { return lives_[group]; }

  /// What the table says; false when that is nothing. What was due is due no more, except that
  /// `want` and `plan` are due at once.
  bool apply(GroupId group, Event event, TimeNs now);
  void set_due(GroupId group, TimeNs at);
  /// One whose time has come, the earliest first; it is due no more.
  [[nodiscard]] std::optional<GroupId> take_due(TimeNs now);
  [[nodiscard]] TimeNs next_due() const { return due_.empty() ? never : due_.begin()->first; }

  /// These transactions are waited for from now on, and no others. For installing and removing.
  void wait_for(GroupId group, const std::vector<TransactionNumber>& transactions);
  /// Installing, and nothing is waited for: only switches that are behind.
  [[nodiscard]] std::vector<GroupId> behind() const { return {behind_.begin(), behind_.end()}; }
  /// Whose transaction it is; none once it has ended.
  [[nodiscard]] std::optional<GroupId> owner(TransactionNumber transaction) const;
  /// `failure` is "" when it was committed. The group, when it was the last one that is waited for.
  [[nodiscard]] std::optional<GroupId> ended(TransactionNumber transaction,
                                             const std::string& failure);

private:
  void note_behind(GroupId group, const Life& life);

  std::map<GroupId, Life> lives_;
  std::map<TransactionNumber, GroupId> owners_;
  std::set<std::pair<TimeNs, GroupId>> due_;
  std::array<std::set<GroupId>, state_count> by_state_;
  std::set<GroupId> behind_;
};

} // namespace tributary::trees
