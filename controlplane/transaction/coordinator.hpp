// Brings subjects of any kind into switches, each change whole or not at all over all its switches,
// and brings switches that were away to what is wanted.
//
//   Coordinator coordinator(graph, {&trees, &routes}, {.epoch = store_epoch});
//   coordinator.restore(targets_of_the_store);          before the first switch connects
//   coordinator.connected(leaf0, session, hello, now);  what differs there is sent at once
//   const auto n = coordinator.set(target, now);
//   for (auto& m : coordinator.take_messages()) ...     to the channels
//   coordinator.receive(leaf0, session, answer, now);
//   for (auto& o : coordinator.take_outcomes()) ...     n is committed, refused, or timed out
//
// After every call: send `take_messages`, end the sessions of `take_closures`, look at
// `take_outcomes`, and call `poll` not later than `next_deadline`.
//
// A transaction
//   1. waits until no other one is under way on its subject;
//   2. is checked here: ports, limits, switches' own files, and whether there is a safe order. What
//      cannot be is refused before anything is sent;
//   3. prepares: every switch whose table changes checks its part and keeps it aside. A refusal, a
//      lost switch, or `prepare_limit` aborts it everywhere;
//   4. is decided as soon as all have prepared. From here on it is wanted, and goes through;
//   5. commits, stage by stage, in the order that the subject's kind gives (kind.hpp);
//   6. ends when all have committed or are behind.
// Any number of them run at once. Switches that only lose what they have, and all those of a
// removal, never stop it: one that is lost is behind.
//
// Reconciliation. A switch says in its hello what is in force there. What differs from what is
// wanted is sent as a transaction of its own, except for subjects on which another transaction is
// under way (their turn comes with its end), and for what its kind does not let come alone because
// of what a lost switch may still hold: that waits for that switch. What the switch's own file has
// is never touched.
//
// Permissions are counted over the subjects that need them, from the moment one is asked for; one
// that nothing needs any more is revoked right after.
//
// A channel that breaks takes what was under way with it. A switch that is connected and does not
// answer is not waited for for ever: its session is in `take_closures`, and counts as lost already.
//
// Pure: no clock, no I/O. The graph is looked at for the names of switches; it and the kinds must
// outlive the coordinator.
#pragma once

#include "controlplane/transaction/kind.hpp"
#include "controlplane/transaction/messages.hpp"
#include "controlplane/transaction/subject.hpp"
#include "controlplane/transaction/transaction.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::transaction {

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
  Message message;
};

/// A session that must be ended; `lost` need not be called for it.
struct Closure {
  SwitchId at;
  SessionNumber session;
  std::string why;
};

class Coordinator {
public:
  /// Throws std::invalid_argument when two kinds have the same number. Every subject below must be
  /// of one of them.
  Coordinator(const topology::Graph& graph, std::vector<const Kind*> kinds,
              const CoordinatorSettings& settings);
  ~Coordinator();
  Coordinator(Coordinator&&) noexcept;
  Coordinator& operator=(Coordinator&&) noexcept;

  // ---- what is wanted ----

  /// These are wanted from now on, without a transaction: switches get them as they connect.
  void restore(std::span<const Target> wanted);
  /// It is not known yet what is wanted of the subject: until a transaction on it is decided,
  /// switches keep what they have of it.
  void leave_undecided(const Subject& subject);
  /// Installs the subject, or changes what is there under this number.
  TransactionNumber set(Target target, TimeNs now);
  /// Succeeds for what is not there, too.
  TransactionNumber remove(const Subject& subject, TimeNs now);

  // ---- the switches ----

  /// The switch has said hello and was taken on. A session it had before is lost by this.
  void connected(SwitchId at, SessionNumber session, const Hello& hello, TimeNs now);
  /// Ignored when the session is not the switch's present one.
  void lost(SwitchId at, SessionNumber session, std::string_view why, TimeNs now);
  /// Ignored when the session is not the present one, or nobody asked.
  void receive(SwitchId at, SessionNumber session, const Answer& answer, TimeNs now);

  // ---- time ----

  void poll(TimeNs now);
  /// `never` when nothing is waited for.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- what comes out ----

  [[nodiscard]] std::vector<Addressed> take_messages();
  [[nodiscard]] std::vector<Closure> take_closures();
  /// One for each set and remove, and one for each reconciliation.
  [[nodiscard]] std::vector<Outcome> take_outcomes();

  // ---- how it stands ----

  /// Those under way by number, then the last ended ones, latest first.
  [[nodiscard]] std::vector<TransactionView> transactions() const;
  [[nodiscard]] bool is_connected(SwitchId at) const;
  /// Null when nothing is wanted of this subject.
  [[nodiscard]] const Target* wanted(const Subject& subject) const;
  /// Switches where what is in force of the subject is not, or not known to be, what is wanted;
  /// empty once it is in force everywhere (or gone everywhere).
  [[nodiscard]] std::vector<SwitchId> behind(const Subject& subject) const;
  /// Whether a transaction on the subject is under way or waits, or a switch that is behind is
  /// being told something: otherwise those that are behind stay so until something else happens.
  [[nodiscard]] bool is_under_way(const Subject& subject) const;
  /// Switches where not all permissions that the subject needs are known to be in force.
  [[nodiscard]] std::vector<SwitchId> without_permission(const Subject& subject) const;
  /// By switch, what it holds of the subject, or may hold; of those that were ever heard.
  [[nodiscard]] std::vector<Part> held(const Subject& subject) const;
  /// What this switch is to hold: contents by subject.
  [[nodiscard]] const std::map<Subject, ContentPtr>& wanted_at(SwitchId at) const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace tributary::transaction
