// Allocations: all that a launcher needs for a job, as one blob. What a job was given is stored
// with it; the launcher is answered when the ports of its nodes are set up.
//
//   allocations.begin(caller, request, reply, turn);   permission was checked before
//   allocations.answer(launch, refusal);               called when JobPorts has finished
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/job_controller/allocation_answer.hpp"
#include "controlplane/job_controller/allocation_leases.hpp"
#include "controlplane/job_controller/job_ports.hpp"
#include "controlplane/job_controller/node_reports.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/replies.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::job_controller {

class Allocations {
public:
  struct Rooms {
    turns::ManagerClock& clock;
    const topology::Graph& graph;
    group::Registry& registry;
    turns::Events& events;
    turns::Replies& replies;
    NodeReports& nodes;
    AllocationLeases& leases;
    JobPorts& ports;
    AllocationAnswer answers;
  };
  /// `random` generates cookies.
  Allocations(const Rooms& rooms, group::RandomSource random)
      : rooms_(rooms), random_(std::move(random)) {}

  /// For an existing job, or one that is created, as the request says. `turn`: when it arrived.
  void begin(const api::Caller& caller, const api::AllocationRequest& request, api::Reply reply,
             std::uint64_t turn);
  void answer(Launch launch, const std::optional<api::Answer>& refusal);

private:
  /// Trees that are reserved for jobs with an allocation, and not in use.
  [[nodiscard]] std::size_t trees_set_aside() const;
  /// Creates the job if needed. Returns the error, or nothing on success.
  [[nodiscard]] std::optional<api::Answer> make_job_of(const api::AllocationRequest& request,
                                                       const std::vector<NodePlace>& places);
  [[nodiscard]] records::Allocation wanted_by(const api::Caller& caller,
                                              const api::AllocationRequest& request,
                                              const std::vector<NodePlace>& places) const;

  Rooms rooms_;
  group::RandomSource random_;
};

} // namespace tributary::job_controller
