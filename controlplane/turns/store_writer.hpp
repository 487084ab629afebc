// When changes are written: requests immediately, what follows from them with the turn, and the
// topology with the next other write or after a second.
//
//   store.write_requests(changes);             requests; the turn continues after the write
//   store.add(changes);                        changes that could wait
//   if (store.write_waiting(graph)) ...        at the end of a turn; false: nothing to write
//   switch (store.stored(failure)) ...         the end of a write, and its content
//
// One write at a time. Changes of a failed write are kept, one change for each record, and tried
// again after a pause. While the store fails (`is_failing`), requests for changes are refused, and
// everything else continues.
//
// The topology is handed over as a snapshot with the list of changed parts: that may be the whole
// fabric, so the writing thread makes the records.
//
// With a replicated store a turn that answers without a write ends with a confirmation (`confirm`),
// and while the store cannot say whether this manager leads, the manager is suspended: nothing that
// others rely on is answered, and no turn runs.
//
// Pure: the environment writes.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/records/backlog.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/stall_detector.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::turns {

class StoreWriter final : public Controller {
public:
  enum class Written : std::uint8_t { nothing, requests, waiting, confirmation };

  StoreWriter(Environment& environment, ManagerClock& clock, StallDetector& stalls, Events& events)
      : environment_(environment), clock_(clock), stalls_(stalls), events_(events) {}

  // ---- changes to store ----

  void add(std::vector<records::Change> changes) { backlog_.add(std::move(changes)); }
  void touch(topology::Touched touched) { topology_.touched.add(std::move(touched)); }
  /// The host's record was changed or erased.
  void touch(Nid host) { topology_.touched.hosts.insert(host); }
  /// The stored topology is unusable: these parts replace it.
  void replace_topology(topology::Touched touched);

  // ---- writes ----

  /// Changes that wait for the end of a write must not be modified now.
  [[nodiscard]] bool is_writing() const { return writing_ != Written::nothing; }
  void write_requests(std::vector<records::Change> changes);
  /// Whether `write_waiting` would write now.
  [[nodiscard]] bool has_waiting();
  [[nodiscard]] bool write_waiting(const topology::Graph& graph);
  /// Writes nothing, and asks whether this manager leads.
  void confirm();
  /// The write is over; `failure` is "" on success. Returns the content of the write.
  Written stored(const std::string& failure);
  /// Before the end, with no turn to follow: all changes that could have waited.
  [[nodiscard]] std::vector<records::Change> take_waiting(const topology::Graph& graph);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "the store"; }
  void begin(const Turn& turn) override;
  [[nodiscard]] TimeNs next_deadline(const Turn& turn) const override;

  // ---- while the store fails ----

  [[nodiscard]] bool is_failing() const { return !failure_.empty(); }
  /// Why it fails; "" when it does not.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// The store fails from the start.
  void begin_failing(const std::string& why);
  /// A check has found that the store cannot write now: for the next turn.
  void is_away(std::string_view why);
  /// In a turn: handles that. True when changes are refused from now on, so that a test write is
  /// needed.
  [[nodiscard]] bool notice_away();
  [[nodiscard]] api::Answer error_answer() const;
  /// Answers with the error, and returns true, when no change can be accepted now.
  [[nodiscard]] bool refuses(const api::Reply& reply) const;

  // ---- while it is not known whether this manager leads ----

  void suspend(const std::string& why);
  void resume();
  [[nodiscard]] bool is_suspended() const { return !suspended_.empty(); }
  /// Why; "" when it is not.
  [[nodiscard]] const std::string& suspension() const { return suspended_; }
  [[nodiscard]] api::Answer suspended_answer() const;

  // ---- figures ----

  [[nodiscard]] std::uint64_t suspensions() const { return suspensions_; }
  [[nodiscard]] std::uint64_t confirmations() const { return confirmations_; }
  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  /// The longest write or confirmation, by the environment's clock.
  [[nodiscard]] std::uint64_t longest_write_ns() const { return longest_write_ns_; }

private:
  /// Changes of the topology that wait or are being written.
  struct TopologyChanges {
    topology::Touched touched;
    bool replaces_stored = false; ///< the stored topology is unusable
    topology::Graph snapshot{};   ///< set when it is written
    [[nodiscard]] bool empty() const { return touched.empty() && !replaces_stored; }
  };
  /// Whether the topology has to be written, even without another write.
  [[nodiscard]] bool topology_is_due() { return topology_at_ <= clock_.now(); }
  /// What is not on disk yet: changes of records, and for the topology a function that makes them.
  [[nodiscard]] std::function<std::vector<records::Change>()> take(const topology::Graph& graph);
  void note_failure(std::string_view why);
  void begin(Written what, std::function<std::vector<records::Change>()> changes);

  Environment& environment_;
  ManagerClock& clock_;
  StallDetector& stalls_;
  Events& events_;
  Written writing_ = Written::nothing;
  records::Backlog backlog_;
  TopologyChanges topology_;
  /// Shared with the writing thread, which releases it last: it may be large.
  std::shared_ptr<TopologyChanges> written_topology_;
  TimeNs topology_at_ = never; ///< when it is written without another write
  std::string failure_;
  TimeNs again_ = never; ///< time of the next attempt
  std::string away_;     ///< reported by `is_away`, handled in the next turn
  std::string suspended_;
  TimeNs began_{}; ///< the write, by the environment's clock
  std::uint64_t suspensions_ = 0;
  std::uint64_t confirmations_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t longest_write_ns_ = 0;
};

} // namespace tributary::turns
