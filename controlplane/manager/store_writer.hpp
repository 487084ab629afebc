// When what is written: requests at once, what follows from them with the turn, and the topology
// when something else is written or after a second.
//
//   store.write_requests(changes);             what was asked for; the turn goes on when it is over
//   store.add(changes);                        what is to be stored, and could wait
//   if (store.write_waiting(graph)) ...        at the end of a turn; false: there is nothing to do
//   switch (store.stored(failure)) ...         the end of a write, which was of these
//
// One write at a time. What a write was to bring to disk and did not is kept, one change for each
// record, and tried again after a pause. While the store takes nothing (`is_failing`), whoever asks
// for changes is answered so, and everything else goes on.
//
// The topology is handed over as a snapshot with what was touched: a whole fabric may have been, so
// its records are made by whoever writes them.
//
// Pure: the environment writes.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/manager/environment.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/stall_detector.hpp"
#include "controlplane/records/backlog.hpp"
#include "controlplane/topology/discovery.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::manager {

class StoreWriter {
public:
  enum class Written : std::uint8_t { nothing, requests, waiting };

  StoreWriter(Environment& environment, ManagerClock& clock, StallDetector& stalls, Events& events)
      : environment_(environment), clock_(clock), stalls_(stalls), events_(events) {}

  // ---- what is to be stored ----

  void add(std::vector<records::Change> changes) { backlog_.add(std::move(changes)); }
  void touch(topology::Touched touched) { topology_.touched.add(std::move(touched)); }
  /// Its record, which may be that it is not there any more.
  void touch(Nid host) { topology_.touched.hosts.insert(host); }
  /// What is stored of the topology is of no use: this is stored in its place.
  void begin_topology_anew(topology::Touched touched);

  // ---- writes ----

  /// Those that wait for the end of a write must not be changed now.
  [[nodiscard]] bool is_writing() const { return writing_ != Written::nothing; }
  void write_requests(std::vector<records::Change> changes);
  [[nodiscard]] bool write_waiting(const topology::Graph& graph);
  /// The write is over; `failure` is "" when it is on disk. What it was of.
  Written stored(const std::string& failure);
  /// Before the end, with no turn to follow: all that could have waited.
  [[nodiscard]] std::vector<records::Change> take_waiting(const topology::Graph& graph);

  void poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- while the store takes nothing ----

  [[nodiscard]] bool is_failing() const { return !failure_.empty(); }
  /// Why; "" when it takes what it is given.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// Already at the start.
  void begin_failing(const std::string& why);
  /// Somebody saw that nothing can be written now, though nothing was to be: for the next turn.
  void is_away(std::string_view why);
  /// In a turn: takes notice of that. True when no change is taken on from now on, so that
  /// something is to be written to try with.
  [[nodiscard]] bool notice_away();
  [[nodiscard]] api::Answer error_answer() const;
  /// Answers, and says true, when no change can be taken on now.
  [[nodiscard]] bool refuses(const api::Reply& reply) const;

private:
  /// What is to be stored of the topology, or is being written.
  struct TopologyChanges {
    topology::Touched touched;
    bool starts_anew = false;   ///< what is stored of it is of no use
    topology::Graph snapshot{}; ///< in one that is being written
    [[nodiscard]] bool empty() const { return touched.empty() && !starts_anew; }
  };
  /// Whether it is time to store what was touched of the topology, though nothing else is.
  [[nodiscard]] bool topology_is_due() { return topology_at_ <= clock_.now(); }
  /// What is not on disk yet: changes of records, and of the topology what will make them.
  [[nodiscard]] std::function<std::vector<records::Change>()> take(const topology::Graph& graph);
  void note_failure(std::string_view why);

  Environment& environment_;
  ManagerClock& clock_;
  StallDetector& stalls_;
  Events& events_;
  Written writing_ = Written::nothing;
  records::Backlog backlog_;
  TopologyChanges topology_;
  /// Whoever writes has it, too, and gives it up last: it may be large.
  std::shared_ptr<TopologyChanges> written_topology_;
  TimeNs topology_at_ = never; ///< when it is written, though nothing else is
  std::string failure_;
  TimeNs again_ = never; ///< when writing is tried again
  std::string away_;     ///< was told of, and is to be taken notice of in the next turn
};

} // namespace tributary::manager
