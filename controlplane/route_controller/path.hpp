// The path of a frame from one host to another by a set of tables: for people.
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

/// The table of a switch, as far as known.
struct HeldTable {
  Epoch epoch = 0; ///< 0: none
  /// Null: no routes, or a reported digest that is unknown here.
  std::shared_ptr<const forwarding_table::Routes> routes{};
};
/// By SwitchId.
using HeldTables = std::vector<HeldTable>;

/// The forwarding of the frame in one switch.
struct PathHop {
  topology::SwitchId at;
  Epoch epoch = 0;        ///< of the switch's table; 0: none
  topology::Port in = 0;  ///< at the first switch, the host's
  topology::Port out = 0; ///< at the last one, the host's
  std::uint8_t vc = 0;    ///< on the outgoing link; highest: or any up to this one
  std::uint8_t highest_vc = 0;
  std::vector<topology::Port> others; ///< other possible ports, by the frame's flow; only ports
                                      ///< that are up
  std::vector<topology::Port> spares; ///< used when all of these are down; only ports that are up
};

struct Path {
  std::vector<PathHop> hops;
  /// Outcome::deliver, or why the last hop drops it; its port `out` is undefined then.
  forwarding_table::Outcome end = forwarding_table::Outcome::no_route;
  bool unknown = false; ///< the switch of the last hop has routes, but their content is not known
};

/// By the lowest port of each choice, with the port states of the graph. Requires hosts that are
/// attached.
[[nodiscard]] Path path_between(const HeldTables& tables, const topology::Graph& graph,
                                topology::HostId from, topology::HostId to);

} // namespace tributary::route_controller
