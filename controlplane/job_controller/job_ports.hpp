// The switch ports of allocations' nodes: which VNIs may enter there, and from which hosts. A
// launcher is answered when that is in force; later changes (a host is learned, or moves, or the
// policy changes) follow, as trees do.
//
//   ports.wait(job, until, launch);      a launcher, which `over` answers
//   ports.look_at(job);                  its allocation has changed
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/fabric_controller/switch_table.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/job/port_kind.hpp"
#include "controlplane/job_controller/allocation_leases.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/replies.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::job_controller {

/// A launcher that is answered when the ports are set up.
struct Launch {
  api::Reply reply;
  std::shared_ptr<const api::AllocationRequest> request;
  bool made_job = false;  ///< which ends if they cannot be set up
  std::uint64_t turn = 0; ///< in which it arrived
};

class JobPorts final : public turns::Controller {
public:
  struct Rooms {
    turns::Environment& environment;
    turns::ManagerClock& clock;
    const topology::Graph& graph;
    const fabric_controller::SwitchTable& switches;
    group::Registry& registry;
    job::PortKind& kind;
    transaction::Coordinator& coordinator;
    AllocationLeases& leases; ///< end with the ports of a job without an allocation
    turns::Replies& replies;
  };
  /// With the current allocation, or with the error.
  using Over = std::function<void(Launch launch, const std::optional<api::Answer>& refusal)>;
  /// Refused changes are tried again after `retry_ns`.
  JobPorts(const Rooms& rooms, job::PortPolicy policy, std::uint64_t retry_ns, Over over)
      : rooms_(rooms), policy_(policy), retry_ns_(retry_ns), over_(std::move(over)) {}

  /// Adds the wanted state for jobs with an allocation in the store.
  void restore(std::vector<transaction::Target>& wanted);
  /// Also changes the ports of running jobs.
  void reconfigure(job::PortPolicy policy);
  [[nodiscard]] job::PortPolicy policy() const { return policy_; }

  /// Waits until then for hosts that no switch has learned.
  void wait(const std::string& job, TimeNs until, Launch launch);
  void look_at(const std::string& job);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "ports of jobs"; }
  [[nodiscard]] std::span<const std::string_view> after() const override;
  /// Checks the jobs that have the host.
  void host_changed(Nid nid) override;
  void ended(const transaction::Outcome& outcome) override;
  /// Answers the launches of this turn.
  void requests_failed(std::uint64_t turn, const api::Answer& error) override;
  void superseded(const api::Answer& error) override;
  /// Ends allocations whose lease has run out, unless the store fails.
  void begin(const turns::Turn& turn) override;
  /// Does nothing while switches are waited for.
  bool handle(const turns::Turn& turn) override;
  /// When jobs have to be checked: as soon as switches are not waited for, and later those that
  /// were refused, or whose hosts are not all learned; and the end of the next lease.
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& turn) const override;

private:
  struct Ports {
    std::vector<Nid> hosts{}; ///< as in `jobs_with_`
    std::optional<transaction::TransactionNumber> running{};
    transaction::Target asked{}; ///< the last requested target
    bool again = false;          ///< check again at `again_`: refused, or hosts not learned
    TimeNs wait_until{};         ///< until then hosts that are not learned are waited for
    std::vector<Launch> waiting{};
  };
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }
  /// The wanted state for a job with an allocation; nothing if no change is needed. Ports that were
  /// set up and are to be open are opened before the job is over: a switch that revokes a
  /// permission of a closed port keeps its VNI out.
  [[nodiscard]] std::optional<transaction::Target> target_of(const group::Job& job,
                                                             bool was_set_up);
  void index_hosts_of(const std::string& job);
  void apply(const std::string& job);
  /// Whether launchers still wait for switches to learn one of its hosts.
  [[nodiscard]] bool waits_for_hosts(const group::Job& job, const Ports& ports) const;
  void end_of_waiting(Ports& ports, const std::optional<api::Answer>& refusal);

  Rooms rooms_;
  job::PortPolicy policy_;
  std::uint64_t retry_ns_;
  Over over_;
  std::map<std::string, Ports> ports_; ///< jobs with an allocation
  std::set<std::pair<Nid, std::string>> jobs_with_;
  std::set<std::string> due_; ///< jobs whose ports have to be checked
  TimeNs again_ = never;
};

} // namespace tributary::job_controller
