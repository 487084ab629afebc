// The answer to a launcher: the places of its nodes in the fabric, and all that the job is given,
// as one blob of values.
//
// Functions of the current fabric and registry, which they do not change. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/fabric_controller/rdma_control.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/job/port_kind.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/turns/events.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tributary::job_controller {

/// The place of a node in the fabric, as far as known.
struct NodePlace {
  std::string interface {};
  std::string address{};
  std::optional<Nid> nid{};
  std::optional<topology::SwitchId> at{};
};

/// Indexed by node of the request.
[[nodiscard]] std::vector<NodePlace> places_of(const topology::Graph& graph,
                                               const api::AllocationRequest& request);

class AllocationAnswer {
public:
  struct Rooms {
    const topology::Graph& graph;
    const group::Registry& registry;
    const fabric_controller::RdmaControl& rdma;
    const turns::Events& events;
  };
  explicit AllocationAnswer(const Rooms& rooms) : rooms_(rooms) {}

  /// Requires a job with an allocation. `policy`: how its ports are treated.
  [[nodiscard]] boost::json::object to(const api::AllocationRequest& request,
                                       const std::string& cookie, job::PortPolicy policy) const;

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  void add_route_times(boost::json::array& values, const std::vector<NodePlace>& places) const;

  Rooms rooms_;
};

} // namespace tributary::job_controller
