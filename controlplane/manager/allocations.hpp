// What launchers ask for: the allocation of a job, as one blob. What a job was given is stored with
// it; a launcher is answered when the ports of its nodes are set up.
//
//   allocations.begin(caller, request, reply, turn);   who may do so was asked before
//   allocations.answer(launch, refusal);               JobPorts has come to an end with it
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/manager/allocation_answer.hpp"
#include "controlplane/manager/allocation_leases.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/job_ports.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/node_reports.hpp"
#include "controlplane/manager/replies.hpp"
#include "controlplane/topology/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::manager {

class Allocations {
public:
  struct Rooms {
    ManagerClock& clock;
    const topology::Graph& graph;
    group::Registry& registry;
    Events& events;
    Replies& replies;
    NodeReports& nodes;
    AllocationLeases& leases;
    JobPorts& ports;
    AllocationAnswer answers;
  };
  /// Cookies are drawn.
  Allocations(const Rooms& rooms, group::RandomSource random)
      : rooms_(rooms), random_(std::move(random)) {}

  /// Of a job that exists, or that is made for it, as the request says. `turn`: in which it came.
  void begin(const api::Caller& caller, const api::AllocationRequest& request, api::Reply reply,
             std::uint64_t turn);
  void answer(Launch launch, const std::optional<api::Answer>& refusal);

private:
  /// Of those that are set aside for jobs with an allocation, and not in use.
  [[nodiscard]] std::size_t trees_set_aside() const;
  /// Why there is no such job; nothing when there is.
  [[nodiscard]] std::optional<api::Answer> make_job_of(const api::AllocationRequest& request,
                                                       const std::vector<NodePlace>& places);
  [[nodiscard]] records::Allocation wanted_by(const api::Caller& caller,
                                              const api::AllocationRequest& request,
                                              const std::vector<NodePlace>& places) const;

  Rooms rooms_;
  group::RandomSource random_;
};

} // namespace tributary::manager
