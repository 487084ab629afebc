#include "controlplane/route_controller/path.hpp"

#include "dataplane/forwarding_table/decide.hpp"

#include <utility>

namespace tributary::route_controller {
namespace {

using topology::Graph;
using topology::SwitchId;

std::vector<std::uint64_t> ports_up(const Graph& graph, SwitchId at, std::size_t words) {
  std::vector<std::uint64_t> up(words);
  for (const topology::Hop& hop : graph.hops(at)) {
    if (graph[hop.link].plugged && graph.usable(hop.link) && hop.port / 64U < words) {
      up[hop.port / 64U] |= std::uint64_t{1} << (hop.port % 64U);
    }
  }
  return up;
}

topology::Attachment other_end(const Graph& graph, topology::Attachment from) {
  const topology::Link& link = graph[*graph.link_at(from)];
  return link.ends[0] == from ? link.ends[1] : link.ends[0];
}

} // namespace

Path path_between(const HeldTables& tables, const Graph& graph, topology::HostId from,
                  topology::HostId to) {
  Path path;
  const topology::Attachment target = graph[to].at;
  topology::Attachment in = graph[from].at;
  bool from_host = true;
  std::uint8_t vc = 0;
  // Verified tables have no loops; those of a fabric that has changed since may have some.
  for (std::size_t most = 2 * graph.switches().size(); most > 0; --most) {
    const HeldTable held = in.at.value < tables.size() ? tables[in.at.value] : HeldTable{};
    PathHop hop{.at = in.at,
                .epoch = held.epoch,
                .in = in.port,
                .vc = vc,
                .highest_vc = vc,
                .others = {},
                .spares = {}};
    if (!held.routes) {
      path.end = forwarding_table::Outcome::no_route;
      path.unknown = held.epoch != 0;
      path.hops.push_back(std::move(hop));
      return path;
    }
    const forwarding_table::SwitchTable* const table = &held.routes->table;
    const std::vector<std::uint64_t> up = ports_up(graph, in.at, table->words);
    const forwarding_table::Port port = from_host ? forwarding_table::local_port : in.port;
    const bool is_known = target.at.value < table->destinations;
    const forwarding_table::Candidates may =
        is_known ? forwarding_table::candidates(*table, port, vc, target.at.value, up)
                 : forwarding_table::Candidates{};
    path.end = may.outcome;
    if (may.outcome != forwarding_table::Outcome::forward) {
      hop.out = target.port;
      path.hops.push_back(std::move(hop));
      return path;
    }
    may.for_each(up, [&](forwarding_table::Port out) { hop.others.push_back(out); });
    const forwarding_table::Action& action = table->action(port, vc, target.at.value);
    forwarding_table::Candidates spare;
    spare.group = table->group(action.spares);
    spare.except = port;
    spare.for_each(up, [&](forwarding_table::Port out) {
      if (may.group.data() != spare.group.data()) {
        hop.spares.push_back(out);
      }
    });
    hop.out = hop.others.front();
    hop.others.erase(hop.others.begin());
    hop.vc = may.lowest_vc;
    hop.highest_vc = may.highest_vc;
    vc = may.lowest_vc;
    in = other_end(graph, {hop.at, hop.out});
    from_host = false;
    path.hops.push_back(std::move(hop));
  }
  path.end = forwarding_table::Outcome::no_route;
  return path;
}

} // namespace tributary::route_controller
