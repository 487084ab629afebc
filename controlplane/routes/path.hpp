// The way of a frame from one host to another by a set of tables: for people.
//
// Pure.
#pragma once

#include "controlplane/routes/plan.hpp"
#include "controlplane/topology/graph.hpp"
#include "dataplane/routing/table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::routes {

/// What one switch does with the frame.
struct PathHop {
  topology::SwitchId at;
  topology::Port in = 0;  ///< of the first switch, the host's
  topology::Port out = 0; ///< of the last one, the host's
  std::uint8_t vc = 0;    ///< it leaves with; highest: or any up to this one
  std::uint8_t highest_vc = 0;
  std::vector<topology::Port> others; ///< that it may leave by as well, by its flow; up
  std::vector<topology::Port> spares; ///< that stand in when all of these are down; up
};

struct Path {
  std::vector<PathHop> hops;
  /// Outcome::deliver, or why it is dropped at the last hop, whose port out means nothing then.
  routing::Outcome end = routing::Outcome::no_route;
};

/// By the lowest port of each choice, with the states of ports as the graph has them. Requires
/// hosts that are plugged in.
[[nodiscard]] Path path_between(const Plan& plan, const topology::Graph& graph,
                                topology::HostId from, topology::HostId to);

} // namespace tributary::routes
