// Installs subjects of any kind in switches, each change on all its switches or on none, and
// reconciles switches that were away.
//
//   Coordinator coordinator(graph, {&trees, &routes}, {.epoch = store_epoch});
//   coordinator.restore(targets_of_the_store);          before the first switch connects
//   coordinator.connected(leaf0, session, hello, now);  differences there are sent immediately
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
//   2. is checked here: ports, limits, switches' own files, and whether a safe order exists. An
//      impossible one is refused before anything is sent;
//   3. prepares: every switch whose table changes checks its part and keeps it aside. A refusal, a
//      lost switch, or `prepare_limit` aborts it everywhere;
//   4. is decided as soon as all have prepared. From here on it is wanted, and is carried out;
//   5. commits, stage by stage, in the order that the subject's kind gives (kind.hpp);
//   6. ends when all have committed or are out of sync.
// Any number of them run at the same time. Switches that only remove content, and all those of a
// removal, never abort it: one that is lost is out of sync.
//
// Reconciliation. A switch lists in its hello what is in force there. Differences to what is wanted
// are sent as a separate transaction, except for subjects on which another transaction is under way
// (they are reconciled at its end), and for changes that their kind does not allow on their own
// because of what a lost switch may still hold: they wait for that switch. Content of the switch's
// own file is never changed.
//
// Permissions are reference-counted over the subjects that need them, from the time of the request;
// one without need is revoked immediately afterwards.
//
// A broken channel loses all that was under way on it. A connected switch that does not answer is
// not waited for forever: its session is in `take_closures`, and counts as lost already.
//
// Pure: no clock, no I/O. The graph provides the names of switches; it and the kinds must outlive
// the coordinator.
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
  /// Time for a switch to check a change.
  std::chrono::nanoseconds prepare_limit = std::chrono::seconds(2);
  /// Time for a switch to apply one; then its session is closed.
  std::chrono::nanoseconds commit_limit = std::chrono::seconds(5);
  /// Ended transactions that `transactions` still shows.
  std::size_t history = 100;
};

/// A message for one session. Drop it when the session has ended.
struct Addressed {
  SwitchId to;
  SessionNumber session;
  Message message;
};

/// A session to end; `lost` need not be called for it.
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

  // ---- wanted state ----

  /// These are wanted from now on, without a transaction: switches get them as they connect.
  void restore(std::span<const Target> wanted);
  /// The wanted state of the subject is not known yet: until a transaction on it is decided,
  /// switches keep what they hold of it.
  void leave_undecided(const Subject& subject);
  /// Installs the subject, or replaces the one with this number.
  TransactionNumber set(Target target, TimeNs now);
  /// Also succeeds when the subject does not exist.
  TransactionNumber remove(const Subject& subject, TimeNs now);

  // ---- the switches ----

  /// The switch has sent hello and was accepted. Its previous session is lost by this.
  void connected(SwitchId at, SessionNumber session, const Hello& hello, TimeNs now);
  /// Ignored when the session is not the switch's current one.
  void lost(SwitchId at, SessionNumber session, std::string_view why, TimeNs now);
  /// Ignored when the session is not the current one, or the answer was not requested.
  void receive(SwitchId at, SessionNumber session, const Answer& answer, TimeNs now);

  // ---- time ----

  void poll(TimeNs now);
  /// `never` when nothing is pending.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- results ----

  [[nodiscard]] std::vector<Addressed> take_messages();
  [[nodiscard]] std::vector<Closure> take_closures();
  /// One for each `set` and `remove`, and one for each reconciliation.
  [[nodiscard]] std::vector<Outcome> take_outcomes();

  // ---- state ----

  /// Those under way by number, then the last ended ones, latest first.
  [[nodiscard]] std::vector<TransactionView> transactions() const;
  [[nodiscard]] bool is_connected(SwitchId at) const;
  /// Null when the subject is not wanted.
  [[nodiscard]] const Target* wanted(const Subject& subject) const;
  /// Switches where the subject in force differs from the wanted one, or is unknown; empty once it
  /// is in force everywhere (or removed everywhere).
  [[nodiscard]] std::vector<SwitchId> out_of_sync(const Subject& subject) const;
  /// Whether a transaction on the subject is under way or waits, or a switch that is out of sync is
  /// being updated: otherwise those that are out of sync stay so until the next event.
  [[nodiscard]] bool is_under_way(const Subject& subject) const;
  /// Switches where not all permissions that the subject needs are known to be in force.
  [[nodiscard]] std::vector<SwitchId> without_permission(const Subject& subject) const;
  /// What each switch holds of the subject, or may hold; only switches that have ever connected.
  [[nodiscard]] std::vector<Part> held(const Subject& subject) const;
  /// What this switch is to hold: contents by subject.
  [[nodiscard]] const std::map<Subject, ContentPtr>& wanted_at(SwitchId at) const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace tributary::transaction
