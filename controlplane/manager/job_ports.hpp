// The switches' ports of allocations' nodes: which VNIs may enter there, and from whom. A launcher
// is answered when that is in force; what changes later (a host that is found, or plugged in
// elsewhere, another policy) follows, as trees do.
//
//   ports.wait(job, until, launch);      a launcher, which `over` answers
//   ports.look_at(job);                  its allocation has changed
//   ports.look_at(nid);                  the host has come, gone or moved
//   while (ports.handle(waits)) ...      in a turn: tells switches
//   ports.ended(outcome);                for every outcome of the coordinator
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/job/port_kind.hpp"
#include "controlplane/manager/allocation_leases.hpp"
#include "controlplane/manager/environment.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/stall_detector.hpp"
#include "controlplane/manager/switch_table.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/coordinator.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

/// A launcher that is answered when the ports are set up.
struct Launch {
  api::Reply reply;
  std::shared_ptr<const api::AllocationRequest> request;
  bool made_job = false;  ///< which ends if they cannot be
  std::uint64_t turn = 0; ///< in which it came
};

class JobPorts {
public:
  struct Rooms {
    Environment& environment;
    ManagerClock& clock;
    StallDetector& stalls;
    const topology::Graph& graph;
    const SwitchTable& switches;
    group::Registry& registry;
    job::PortKind& kind;
    transaction::Coordinator& coordinator;
    AllocationLeases& leases; ///< end with the ports of a job that has no allocation any more
  };
  /// With the allocation as it is now, or with the refusal.
  using Over = std::function<void(Launch launch, const std::optional<api::Answer>& refusal)>;
  /// What switches refused is tried again after `retry_ns`.
  JobPorts(const Rooms& rooms, job::PortPolicy policy, std::uint64_t retry_ns, Over over)
      : rooms_(rooms), policy_(policy), retry_ns_(retry_ns), over_(std::move(over)) {}

  /// Of jobs with an allocation in the store: what is to be in force.
  void restore(std::vector<transaction::Target>& wanted);
  /// Ports of jobs that run follow.
  void reconfigure(job::PortPolicy policy);
  [[nodiscard]] job::PortPolicy policy() const { return policy_; }

  /// Hosts that no switch has heard of are waited for until then.
  void wait(const std::string& job, TimeNs until, Launch launch);
  void look_at(const std::string& job);
  /// Those of the jobs that have the host.
  void look_at(Nid nid);
  /// Not while switches are waited for. True when something was done.
  bool handle(bool waits_for_switches);
  void ended(const transaction::Outcome& outcome);
  /// Those that came in this turn could not be stored.
  void take_back(std::uint64_t turn, const std::function<void(api::Reply reply)>& answer);

  /// Some are to be looked at, as soon as switches are not waited for.
  [[nodiscard]] bool are_due() const { return !due_.empty(); }
  /// When those are looked at again that were refused, or not all heard.
  [[nodiscard]] TimeNs next_deadline() const { return again_; }

private:
  struct Ports {
    std::vector<Nid> hosts{}; ///< as `jobs_with_` has them
    std::optional<transaction::TransactionNumber> running{};
    transaction::Target asked{}; ///< by it
    bool again = false;          ///< to be looked at at `again_`: refused, or not all heard
    TimeNs patience{};           ///< until then hosts that were not heard are waited for
    std::vector<Launch> waiting{};
  };
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }
  /// What is to be in force for a job with an allocation; nothing where nothing is. Ports that were
  /// set up and are to be open are opened before the job is over: a switch keeps the VNI of a
  /// permission out that is revoked while it closes a port.
  [[nodiscard]] std::optional<transaction::Target> target_of(const group::Job& job,
                                                             bool was_set_up);
  void index_hosts_of(const std::string& job);
  void settle(const std::string& job);
  /// Whether launchers still wait for switches to hear of one of its hosts.
  [[nodiscard]] bool waits_for_hosts(const group::Job& job, const Ports& ports) const;
  void end_of_waiting(Ports& ports, const std::optional<api::Answer>& refusal);

  Rooms rooms_;
  job::PortPolicy policy_;
  std::uint64_t retry_ns_;
  Over over_;
  std::map<std::string, Ports> ports_; ///< of jobs with an allocation
  std::set<std::pair<Nid, std::string>> jobs_with_;
  std::set<std::string> due_; ///< jobs whose ports are to be looked at
  TimeNs again_ = never;
};

} // namespace tributary::manager
