// The coordinator's implementation, in four files by event: coordinator.cpp (requests, and what may
// start), course.cpp (the course of a transaction), answers.cpp (answers of switches, and missing
// ones), reconcile.cpp.
//
// How events become effects: every public call changes its own state, and notes in `subjects_due_`
// and `switches_due_` where something may start now; `pump` starts it. So no transaction begins in
// the middle of another one's step, and no call recurses.
#pragma once

#include "controlplane/transaction/check.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/transaction/inventory.hpp"
#include "controlplane/transaction/running.hpp"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tributary::transaction {

class Coordinator::Impl {
public:
  Impl(const topology::Graph& graph, const std::vector<const Kind*>& kinds,
       const CoordinatorSettings& settings);

  void restore(std::span<const Target> wanted);
  void leave_undecided(const Subject& subject) { undecided_.insert(subject); }
  TransactionNumber request(const Subject& subject, std::optional<Target> target, TimeNs now);

  void connected(SwitchId at, SessionNumber session, const Hello& hello, TimeNs now);
  void lost(SwitchId at, SessionNumber session, std::string_view why, TimeNs now);
  void receive(SwitchId at, SessionNumber session, const Answer& answer, TimeNs now);

  void poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const;

  [[nodiscard]] const Target* wanted(const Subject& subject) const;
  [[nodiscard]] std::vector<SwitchId> out_of_sync(const Subject& subject) const;
  [[nodiscard]] bool is_under_way(const Subject& subject) const;
  [[nodiscard]] const Inventory& inventory() const { return inventory_; }
  [[nodiscard]] std::vector<TransactionView> transactions() const;

  std::vector<Addressed> messages;
  std::vector<Closure> closures;
  std::vector<Outcome> outcomes;

private:
  /// Transactions on one subject.
  struct SubjectQueue {
    std::deque<TransactionNumber> queue; ///< the first one may be under way
    unsigned reconciling = 0;            ///< reconciliations under way, one switch each
  };
  /// The step that an answer refers to.
  struct StepKey {
    TransactionNumber transaction;
    std::size_t step = 0;
  };

  // ---- coordinator.cpp ----

  [[nodiscard]] std::uint64_t next_wire_number();
  [[nodiscard]] bool is_current(SwitchId at, SessionNumber session) const;
  [[nodiscard]] const Kind& kind_of(const Subject& subject) const;
  [[nodiscard]] std::string describe(const Subject& subject) const;
  [[nodiscard]] const std::string& name_of(SwitchId at) const { return graph_[at].name; }
  [[nodiscard]] std::string names_of(const std::vector<SwitchId>& switches) const;
  void send(SwitchId at, Message::Verb verb, std::uint64_t number, Changes changes = {});
  void set_deadline(Running& t, TimeNs deadline);
  void clear_deadline(Running& t);
  /// Differences at these switches may be sent now.
  void note_out_of_sync(const Subject& subject);
  void pump(TimeNs now);
  void advance_queue(const Subject& subject, TimeNs now);

  // ---- course.cpp ----

  void start(Running& t, TimeNs now);
  void make_steps(Running& t, const Order& order);
  void decide_when_ready(Running& t, TimeNs now);
  /// Tells the switches of this stage to commit; continues with the next stage while no answer is
  /// pending, and ends the transaction after the last.
  void begin_stage(Running& t, unsigned stage, TimeNs now);
  void commit(Running& t, RunningStep& step);
  /// One of the pending steps needs no further answer.
  void step_answered(Running& t, TimeNs now);
  void refuse(Running& t, const Objection& objection);
  void abort(Running& t, Result result, std::vector<SwitchId> blamed, std::string_view why);
  [[nodiscard]] std::string outcome_text(const Running& t, const Outcome& outcome,
                                         std::string_view why) const;
  /// Ends it and erases it: the reference is dangling afterwards.
  void finish(Running& t, Result result, std::vector<SwitchId> blamed, std::string_view why);
  void remember(const Running& t, const std::string& text);

  // ---- answers.cpp ----

  void prepared(Running& t, RunningStep& step, TimeNs now);
  void refused(Running& t, RunningStep& step, const Answer& answer, TimeNs now);
  void committed(Running& t, RunningStep& step, TimeNs now);
  void lose(SwitchId at, std::string_view why, TimeNs now);
  void lose_step(Running& t, RunningStep& step, std::string_view why, TimeNs now);
  /// Decided, but not possible now; checked again when the transaction is over.
  void leave_out_of_sync(Running& t, RunningStep& step, TimeNs now);
  /// Ends the session of a switch that does not answer.
  void give_up(SwitchId at, const std::string& why, TimeNs now);
  void out_of_time(Running& t, TimeNs now);

  // ---- reconcile.cpp ----

  /// Sends the differences to the switch.
  void reconcile(SwitchId at, TimeNs now);
  void add_difference(SwitchId at, const Subject& subject, Changes& changes);
  void refuse_own(SwitchId at, const Subject& subject);
  void reconciliation_refused(Running& t, const std::string& reason);
  void reconciliation_ended(const Running& t);

  const topology::Graph& graph_;
  std::map<KindNumber, const Kind*> kinds_;
  CoordinatorSettings settings_;
  Inventory inventory_{graph_};
  std::uint32_t counter_ = 0;

  std::map<TransactionNumber, Running> running_;
  std::map<Subject, SubjectQueue> queues_;
  std::set<Subject> undecided_;                               ///< their differences are left alone
  std::map<SwitchId, std::map<std::uint64_t, StepKey>> open_; ///< by the number on the wire
  std::set<std::pair<TimeNs, TransactionNumber>> deadlines_;
  std::deque<TransactionView> history_; ///< the latest first

  std::set<SwitchId> reconciling_;
  /// Subjects that may differ in a way that can be reconciled now. Those that have to wait are
  /// removed: the event that they wait for adds them again.
  std::map<SwitchId, std::set<Subject>> to_reconcile_;
  std::set<SwitchId> one_by_one_; ///< refused several changes in one message
  std::set<Subject> subjects_due_;
  std::set<SwitchId> switches_due_;
};

} // namespace tributary::transaction
