// Routes for any connected topology and any number of virtual channels from one up, similar to Nue
// (Domke, Hoefler, Matsuoka 2016): only paths that close no cycle are searched.
//
// Every switch has one link and one virtual channel for every destination. Each virtual channel has
// its own dependency graph between links (acyclic_graph.hpp):
//
//   1. *Escape.* A spanning tree from a central switch. The steps of its paths from endpoint to
//      endpoint are dependencies of virtual channel 0 from the beginning. A tree has no cycle, so
//      one allowed route always exists.
//   2. *Search.* For a destination, outward from it, breadth-first: a switch joins by a link to one
//      that has joined if the step from that link to the other's next can become a dependency of
//      its virtual channel without closing a cycle, or if it uses a lower virtual channel: its
//      frames rise there, and steps that rise close no cycle. Among links with equally few hops,
//      the one with the least loaded route is chosen. A step that leads down and then up is a last
//      resort: it is the most likely to block others.
//   3. *More passes.* Each destination is withdrawn and searched again, with the loads of all
//      others known. Not on very large fabrics.
//   4. *Islands.* A switch that the search does not reach by any link uses the tree, and leaves it
//      as soon as the step into a searched route is allowed. Frames on such a detour are recognized
//      by their input port: the table has a row for it.
//
// So it succeeds for one virtual channel as for many; with two, nearly all routes are minimal, and
// links evenly loaded. Switches do not react to faults on their own: a fault needs new tables. Old
// and new tables may close a cycle together: the verifier detects that (a change in two steps is
// needed then).
//
// Differences to Nue: virtual channels that rise along a route (as in LASH-TOR), where Nue
// partitions destinations; rows by input port, where Nue routes the whole destination on its tree
// or backtracks.
//
// Time: destinations x links x hops, and the search for cycles; memory: links x ports for each
// virtual channel.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/network.hpp"

#include <cstdint>
#include <span>

namespace tributary::unicast {

/// Tables from every endpoint to every other over ports that are up. Throws RouteError without any
/// virtual channel, or when endpoints are in several parts, which the message names.
[[nodiscard]] TableSet general_tables(const Network& network, const PortStates& up,
                                      std::span<const std::uint32_t> endpoints, std::uint8_t vcs);

/// The same for a fat tree, whose shape it does not use. Throws RouteError when live leaves are cut
/// off.
class GeneralOnShape final : public Algorithm {
public:
  GeneralOnShape(const Shape& shape, const RouteOptions& options)
      : shape_(shape), network_(network_of(shape)), options_(options) {}
  [[nodiscard]] TableSet tables(const Faults& known) override {
    return general_tables(network_, port_states(shape_, network_, known),
                          live_leaves(shape_, known), options_.vcs);
  }

private:
  Shape shape_;
  Network network_;
  RouteOptions options_;
};

} // namespace tributary::unicast
