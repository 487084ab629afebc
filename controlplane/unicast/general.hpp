// Routes for any connected topology and any number of virtual channels from one up, in the manner
// of Nue (Domke, Hoefler, Matsuoka 2016): paths are searched where they can close no cycle.
//
// Every switch has for every destination one link and one virtual channel. Each virtual channel has
// a dependency graph of its own between links (acyclic_graph.hpp):
//
//   1. *Escape.* A spanning tree from a switch in the middle. The steps of its paths from endpoint
//      to endpoint are dependencies of virtual channel 0 from the beginning. A tree has no cycle,
//      so there is always one route that is allowed.
//   2. *Search.* For a destination, outward from it, by breadth: a switch joins by a link to one
//      that has joined if the step from that link to the other's next can become a dependency of
//      its virtual channel without closing a cycle, or if it takes a lower virtual channel: its
//      frames rise there, and what only rises closes no cycle. Of links of equally few hops, the
//      one whose route is loaded least. A step that leads down and then up is the most likely to be
//      in the way of others, and a last resort.
//   3. *More passes.* Each destination is withdrawn and searched again, with the loads of all
//      others known. Not on very large fabrics.
//   4. *Islands.* A switch that no link leads into the search goes along the tree, and leaves it as
//      soon as the step into a searched route is allowed. Frames on such a detour are told from
//      others by the port they come in on: the table has a row for it.
//
// So it succeeds for one virtual channel as for many; with two, routes are nearly all minimal, and
// links evenly loaded. Nothing happens on the spot: a fault needs new tables. Tables of before and
// after may close a cycle together: the verifier says so (a change in two steps is needed then).
//
// What differs from Nue: virtual channels that rise along a route (as in LASH-TOR), where Nue
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

/// Tables from every endpoint to every other over ports that are up. Throws RouteError when there
/// is no virtual channel, or when endpoints are in several parts: it names them.
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
