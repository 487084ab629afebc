// From a fabric to a set of routes that may be installed, or to the reason why there is none.
//
//   Plan plan = make_plan({.fabric = snapshot, .settings = settings, .held = held}, now);
//   if (!plan.refused.empty()) { tell(plan.refused); }           and what is in force stays
//
//   graph, without what is drained or flaps
//     |  placement: is it a fat tree?                  algorithm `auto` asks, and falls back
//     v
//   tables of an algorithm, for each part of the fabric
//     |  verified: every pair of a part gets through by every choice, no cycle of waits
//     v
//   together with what switches hold now               each may have the old or the new meanwhile
//     |  no cycle                 a cycle
//     v                             v
//   all at once                 along a spanning tree in between, which may meet both; where there
//                               is none, the routes are withdrawn for the moment of the change
//
// A set in which frames could wait in a circle is never installed, and neither is one that cannot
// go all its way: what a switch without a channel holds stays there meanwhile, and has to be such
// that the new tables may be beside it. What frames cannot reach does not count. Of several sets
// the one is taken that leaves the fewest pairs without a route, and what switches hold already is
// one of them.
//
// Pure: a function of what it is given, but for the times it notes; made to run beside the manager.
// Time: what the algorithm takes and two walks of the verifier; memory: the tables three times.
#pragma once

#include "controlplane/route_controller/routes_content.hpp"
#include "controlplane/route_controller/settings.hpp"
#include "controlplane/route_controller/union.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/unicast/link_loads.hpp"
#include "controlplane/unicast/verify.hpp"
#include "dataplane/forwarding_table/routes.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tributary::route_controller {

/// What ports can carry.
struct VcLimit {
  std::uint8_t vcs = forwarding_table::max_vcs;
  std::string where{}; ///< "leaf0 port 3": the first one that carries no more
};

struct Request {
  topology::Graph fabric; ///< as it is
  /// Which switches to route around as if they were down, and which links.
  std::set<topology::SwitchId> avoided_switches{};
  std::set<topology::LinkId> avoided_links{};
  /// Switches that cannot be told anything now: they go on with what they hold.
  std::set<topology::SwitchId> without_channel{};
  Settings settings{};
  Epoch epoch = 0; ///< of the tables in between; those of the plan have the next one
  std::vector<HeldRoutes> held{};
  std::string held_algorithm{}; ///< that of the set in force; "" when there is none
  VcLimit limit{};
  std::uint64_t sprayed_dscps = 0; ///< as forwarding_table::Routes has them
};

/// How a set is taken into force, in words for people: all at once; ...
enum class Change : std::uint8_t {
  at_once,    ///< old and new tables may meet
  in_between, ///< along a spanning tree, which may meet both
  withdrawn,  ///< nothing is routed for a moment: no tables in between were found
};
[[nodiscard]] std::string_view name_of(Change change);

struct Plan {
  Epoch epoch = 0;
  std::string algorithm; ///< "phase_search": of those that made the tables
  std::uint8_t vcs = 0;
  unicast::Policy policy = unicast::Policy::safe;
  std::string shape; ///< "16x16, 1 plane"; "" when it is no fat tree, or none was looked for
  std::string why;   ///< another one was not taken: "no fat tree: ..."

  std::string refused; ///< why it is not to be installed, with a witness; "" when it is
  /// Switches with hosts that reach each other, by name; one part when the fabric is connected.
  std::vector<std::vector<std::string>> parts;

  /// By SwitchId; null: the switch is to hold none.
  std::vector<std::shared_ptr<const RoutesContent>> contents;
  Change change = Change::at_once;

  std::vector<std::string> destinations; ///< switches whose routes are others than before
  std::uint64_t pairs = 0;
  std::uint64_t lost = 0; ///< of these: they have no route, or some choice loses their frames
  std::string loses;      ///< one of them, and where its frames end; "" when none is lost
  /// Lost by what switches held when this was made, in the fabric as it was then; none: not known,
  /// or of no interest, since this loses none.
  std::optional<std::uint64_t> held_lost{};
  std::uint32_t most_hops = 0;
  std::uint8_t vcs_used = 0;
  double mean_load = 0; ///< frames on a direction of a link, when each endpoint sends one to each
  double hottest_load = 0;  ///< other, and
  std::string hottest_link; ///< where: "leaf0 port 3 - spine0 port 1"

  TimeNs computed{}; ///< when the tables were there
  TimeNs verified{}; ///< and when they were walked
};

/// Throws nothing but std::bad_alloc: what is wrong with the fabric or the settings is a refusal.
[[nodiscard]] Plan make_plan(const Request& request, const std::function<TimeNs()>& now);

/// What switches hold, by `parts`; what they told of by its digest only is looked for in plans that
/// were made before.
[[nodiscard]] std::vector<HeldRoutes>
held_routes(std::span<const transaction::Part> parts,
            std::span<const std::shared_ptr<const Plan>> known);

/// The graph that is planned on: what is avoided is down.
[[nodiscard]] topology::Graph without_avoided(const Request& request);

/// "leaf0, leaf1 and 14 more; spine3"
[[nodiscard]] std::string describe_parts(const std::vector<std::vector<std::string>>& parts);

} // namespace tributary::route_controller
