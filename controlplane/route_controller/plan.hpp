// Computes a set of routes that may be installed, or the reason why none exists.
//
//   Plan plan = make_plan({.fabric = snapshot, .settings = settings, .held = held}, now);
//   if (!plan.refused.empty()) { report(plan.refused); }         and the set in force stays
//
//   graph, without drained switches and flapping links
//     |  placement: is it a fat tree?                  algorithm `auto` asks, and falls back
//     v
//   tables of an algorithm, for each part of the fabric
//     |  verified: every pair of a part is connected by every choice, no cycle of waits
//     v
//   together with what switches hold now               each may have the old or the new one
//     |  no cycle                 a cycle
//     v                             v
//   in one stage                along a spanning tree in between, compatible with both; if none
//                               exists, the routes are withdrawn for the moment of the change
//
// A set that can deadlock is never installed, and neither is one whose change cannot be completed:
// a switch without a channel keeps what it holds, which has to be compatible with the new tables.
// Switches that frames cannot reach do not count. Among several sets the one that leaves the fewest
// pairs without a route is chosen, including the set that switches already hold.
//
// Pure: a function of its arguments, except for the times it notes; made to run beside the manager.
// Time: that of the algorithm and two walks of the verifier; memory: three times the tables.
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

/// Capability of ports.
struct VcLimit {
  std::uint8_t vcs = forwarding_table::max_vcs;
  std::string where{}; ///< "leaf0 port 3": the first port with this limit
};

struct Request {
  topology::Graph fabric; ///< current state
  /// Switches and links to route around as if they were down.
  std::set<topology::SwitchId> avoided_switches{};
  std::set<topology::LinkId> avoided_links{};
  /// Switches that cannot be updated now: they keep what they hold.
  std::set<topology::SwitchId> without_channel{};
  Settings settings{};
  Epoch epoch = 0; ///< of the intermediate tables; those of the plan have the next one
  std::vector<HeldRoutes> held{};
  std::string held_algorithm{}; ///< that of the set in force; "" when none is
  VcLimit limit{};
  std::uint64_t sprayed_dscps = 0; ///< as in forwarding_table::Routes
};

/// How a set comes into force, in words for people: all at once; ...
enum class Change : std::uint8_t {
  at_once,    ///< old and new tables are compatible
  in_between, ///< along a spanning tree, compatible with both
  withdrawn,  ///< no routes for a moment: no intermediate tables were found
};
[[nodiscard]] std::string_view name_of(Change change);

struct Plan {
  Epoch epoch = 0;
  std::string algorithm; ///< "phase_search": the one that made the tables
  std::uint8_t vcs = 0;
  unicast::Policy policy = unicast::Policy::safe;
  std::string shape; ///< "16x16, 1 plane"; "" when it is not a fat tree, or was not checked
  std::string why;   ///< why another algorithm was not used: "no fat tree: ..."

  std::string refused; ///< why it must not be installed, with a witness; "" if it may
  /// Switches with hosts that reach each other, by name; one part when the fabric is connected.
  std::vector<std::vector<std::string>> parts;

  /// By SwitchId; null: the switch is to hold none.
  std::vector<std::shared_ptr<const RoutesContent>> contents;
  Change change = Change::at_once;

  std::vector<std::string> destinations; ///< switches whose routes have changed
  std::uint64_t pairs = 0;
  std::uint64_t lost = 0; ///< of these: without a route, or some choice loses their frames
  std::string loses;      ///< one of them, and where its frames end; "" when none is lost
  /// Lost by what switches held when this was made, in the fabric of that time; nothing: unknown,
  /// or irrelevant, since this loses none.
  std::optional<std::uint64_t> held_lost{};
  std::uint32_t most_hops = 0;
  std::uint8_t vcs_used = 0;
  double mean_load = 0; ///< frames on a direction of a link, when each endpoint sends one to each
  double hottest_load = 0;  ///< the most loaded direction, and
  std::string hottest_link; ///< its link: "leaf0 port 3 - spine0 port 1"

  TimeNs computed{}; ///< when the tables were complete
  TimeNs verified{}; ///< and when they were verified
};

/// Throws only std::bad_alloc: an error in the fabric or the settings is a refusal.
[[nodiscard]] Plan make_plan(const Request& request, const std::function<TimeNs()>& now);

/// What switches hold, by `parts`; contents reported only by digest are looked up in earlier plans.
[[nodiscard]] std::vector<HeldRoutes>
held_routes(std::span<const transaction::Part> parts,
            std::span<const std::shared_ptr<const Plan>> known);

/// The graph to plan on: avoided elements are down.
[[nodiscard]] topology::Graph without_avoided(const Request& request);

/// "leaf0, leaf1 and 14 more; spine3"
[[nodiscard]] std::string describe_parts(const std::vector<std::vector<std::string>>& parts);

} // namespace tributary::route_controller
