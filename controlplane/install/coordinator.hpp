// Brings trees and permissions into switches, each change whole or not at all over all switches of
// its tree, and brings switches that were away to what is wanted.
//
//   Coordinator coordinator(graph, {.epoch = store_epoch});
//   coordinator.restore(trees_of_the_store);            before the first switch connects
//   coordinator.connected(leaf0, session, hello, now);  what differs there is sent at once
//   const auto n = coordinator.set_tree(target, now);
//   for (auto& m : coordinator.take_messages()) ...     to the channels
//   coordinator.receive(leaf0, session, answer, now);
//   for (auto& o : coordinator.take_outcomes()) ...     n is committed, refused, or timed out
//
// After every call: send `take_messages`, end the sessions of `take_closures`, look at
// `take_outcomes`, and call `poll` not later than `next_deadline`.
//
// A transaction
//   1. waits until no other one is under way on its tree;
//   2. is checked here: ports, limits, files' own trees, loops. What cannot be is refused before
//      anything is sent;
//   3. prepares: every switch whose table changes checks its part and keeps it aside. A refusal, a
//      lost switch, or `prepare_limit` aborts it everywhere;
//   4. is decided as soon as all have prepared. From here on it is wanted, and goes through;
//   5. commits, stage by stage (order.hpp): installing from the leaves up, the root's switch last,
//      so that no arm comes down into a missing entry; removing from the root's switch down; both
//      for a change, the new before the old is taken away, or the old first where the two could
//      form a loop;
//   6. ends when all have committed or are behind.
// Any number of them run at once. Switches that only lose the tree, and all those of a removal,
// never stop it: one that is lost is behind.
//
// Reconciliation. A switch says in its hello what is in force there. What differs from what is
// wanted is sent as a transaction of its own, except for trees on which another transaction is
// under way (their turn comes with its end), and for entries that could close a loop with what a
// lost switch may still hold: these wait for that switch. Trees of the switch's own file are never
// touched.
//
// Permissions are counted over the trees that need them, from the moment a tree is asked for; one
// that no tree needs any more is revoked right after.
//
// A channel that breaks takes what was under way with it. A switch that is connected and does not
// answer is not waited for for ever: its session is in `take_closures`, and counts as lost already.
//
// Pure: no clock, no I/O. The graph is looked at for the names of switches and for what is at the
// other end of a port, and must outlive the coordinator.
#pragma once

#include "controlplane/install/target.hpp"
#include "controlplane/install/transaction.hpp"
#include "tributary/control.pb.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::install {

struct CoordinatorSettings {
  /// Higher at every start of the manager.
  std::uint32_t epoch = 1;
  /// For a switch to check a change.
  std::chrono::nanoseconds prepare_limit = std::chrono::seconds(2);
  /// For a switch to put one in force; then its session is closed.
  std::chrono::nanoseconds commit_limit = std::chrono::seconds(5);
  /// Ended transactions that `transactions` goes on to show.
  std::size_t history = 100;
};

/// A message for one session. To be dropped when the session is no more.
struct Addressed {
  SwitchId to;
  SessionNumber session;
  control::ManagerMessage message;
};

/// A session that must be ended; `lost` need not be called for it.
struct Closure {
  SwitchId at;
  SessionNumber session;
  std::string why;
};

class Coordinator {
public:
  Coordinator(const topology::Graph& graph, const CoordinatorSettings& settings);
  ~Coordinator();
  Coordinator(Coordinator&&) noexcept;
  Coordinator& operator=(Coordinator&&) noexcept;

  // ---- what is wanted ----

  /// These are wanted from now on, without a transaction: switches get them as they connect.
  void restore(std::span<const TreeTarget> wanted);
  /// Installs the tree, or changes what is there under this number.
  TransactionNumber set_tree(TreeTarget target, TimeNs now);
  /// Succeeds for a tree that is not there, too.
  TransactionNumber remove_tree(TreeNumber tree, TimeNs now);

  // ---- the switches ----

  /// The switch has said hello and was taken on. A session it had before is lost by this.
  void connected(SwitchId at, SessionNumber session, const control::SwitchHello& hello, TimeNs now);
  /// Ignored when the session is not the switch's present one.
  void lost(SwitchId at, SessionNumber session, std::string_view why, TimeNs now);
  /// Looks at Prepared, Refused and Committed of the present session; ignores all else.
  void receive(SwitchId at, SessionNumber session, const control::SwitchMessage& message,
               TimeNs now);

  // ---- time ----

  void poll(TimeNs now);
  /// `never` when nothing is waited for.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- what comes out ----

  [[nodiscard]] std::vector<Addressed> take_messages();
  [[nodiscard]] std::vector<Closure> take_closures();
  /// One for each set_tree and remove_tree, and one for each reconciliation.
  [[nodiscard]] std::vector<Outcome> take_outcomes();

  // ---- how it stands ----

  /// Those under way by number, then the last ended ones, latest first.
  [[nodiscard]] std::vector<TransactionView> transactions() const;
  [[nodiscard]] bool is_connected(SwitchId at) const;
  /// What is wanted under this number; null when nothing is.
  [[nodiscard]] const TreeTarget* wanted(TreeNumber tree) const;
  /// Switches where what is in force of the tree is not, or not known to be, what is wanted; empty
  /// once it is in force everywhere (or gone everywhere).
  [[nodiscard]] std::vector<SwitchId> behind(TreeNumber tree) const;
  /// Trees that this switch is to hold, by number.
  [[nodiscard]] std::vector<TreeNumber> wanted_at(SwitchId at) const;
  [[nodiscard]] std::size_t wanted_count_at(SwitchId at) const;
  /// Trees that some switch's own file has, by its last hello: not to be given to a group.
  [[nodiscard]] std::set<TreeNumber> reserved_trees() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace tributary::install
