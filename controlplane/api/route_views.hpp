// Unicast routes, paths, faults and drained switches, as JSON: docs/protocol/manager-api.md. Pure.
#pragma once

#include "controlplane/faults/damping.hpp"
#include "controlplane/faults/fault_log.hpp"
#include "controlplane/route_controller/path.hpp"
#include "controlplane/route_controller/route_sets.hpp"
#include "controlplane/route_controller/settings.hpp"
#include "controlplane/topology/graph.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tributary::api {

/// To what degree a switch is drained.
struct DrainState {
  std::string at;
  bool drained = false; ///< wanted by the operator
  /// What still passes through it: "tree 7", "unicast routes of epoch 3"; empty: it may be removed.
  std::vector<std::string> through;
};
[[nodiscard]] boost::json::object json_of(const DrainState& state);

/// Sources of the route views.
struct RouteReadView {
  const topology::Graph& graph;
  const route_controller::Settings& settings;
  const route_controller::RouteSets& life;
  const faults::Damping& damping;
  std::vector<topology::SwitchId> out_of_sync; ///< switches that lack part of the wanted set
  std::vector<DrainState> drained;
};
[[nodiscard]] boost::json::object routes_json(const RouteReadView& read_view, TimeNs now);

/// The path by the tables that switches hold. `set`, which may be null, is the wanted set. Requires
/// hosts that are attached.
[[nodiscard]] boost::json::object path_json(const route_controller::HeldTables& held,
                                            const route_controller::Set* set,
                                            const topology::Graph& graph, topology::HostId from,
                                            topology::HostId to);

/// The latest `limit` faults, the newest first.
[[nodiscard]] boost::json::object faults_json(const faults::FaultLog& log, std::size_t limit);

} // namespace tributary::api
