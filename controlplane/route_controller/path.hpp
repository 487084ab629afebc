// The way of a frame from one host to another by a set of tables: for people.
//
// Pure.
#pragma once

#include "controlplane/route_controller/routes_content.hpp"
#include "controlplane/topology/graph.hpp"
#include "dataplane/forwarding_table/routes.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tributary::route_controller {

/// What a switch holds, as far as it is known.
struct HeldTable {
  Epoch epoch = 0; ///< 0: nothing
  /// Null: nothing, or the switch has told a digest that nobody here knows.
  std::shared_ptr<const forwarding_table::Routes> routes{};
};
/// By SwitchId.
using HeldTables = std::vector<HeldTable>;

/// What one switch does with the frame.
struct PathHop {
  topology::SwitchId at;
  Epoch epoch = 0;        ///< of the switch's table; 0: it has none
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
  forwarding_table::Outcome end = forwarding_table::Outcome::no_route;
  bool unknown = false; ///< the switch of the last hop has routes, and it is not known which
};

/// By the lowest port of each choice, with the states of ports as the graph has them. Requires
/// hosts that are plugged in.
[[nodiscard]] Path path_between(const HeldTables& tables, const topology::Graph& graph,
                                topology::HostId from, topology::HostId to);

} // namespace tributary::route_controller
