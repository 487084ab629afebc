#include "controlplane/route_controller/fabric.hpp"

#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/graph_tables.hpp"
#include "controlplane/unicast/route_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tributary::route_controller {

using unicast::TableSet;

Fabric::Fabric(topology::Graph planned_graph, const topology::Graph& real_graph)
    : graph(std::move(planned_graph)), network(unicast::network_of(graph)),
      planned(unicast::port_states(graph, network)),
      real(unicast::port_states(real_graph, network)), endpoints(unicast::endpoints_of(graph)),
      parts(unicast::parts_of(network, planned, endpoints)) {}

TableSet Fabric::empty_tables(std::uint8_t vcs) const {
  TableSet set;
  set.vcs = vcs;
  for (std::uint32_t s = 0; s < switches(); ++s) {
    set.switches.push_back(unicast::empty_table(s, switches(), network.ports(s), vcs));
  }
  return set;
}

std::optional<TableSet> Fabric::spanning_tree(std::uint8_t vcs, std::uint32_t which) const {
  std::optional<std::uint32_t> root; // first, the tree that the tables of `general` contain
  if (which > 0) {
    root = (which - 1) * std::max(1U, switches() / (spanning_trees - 1));
    if (*root >= switches() || !graph[topology::SwitchId{*root}].up) {
      return std::nullopt;
    }
  }
  TableSet tree = empty_tables(vcs);
  try {
    for (const auto& part : parts) {
      TableSet of_part = unicast::escape_tables(network, planned, part, vcs,
                                                parts.size() == 1 ? root : std::nullopt);
      for (std::uint32_t s = 0; s < switches(); ++s) {
        if (std::ranges::any_of(of_part.switches[s].rows, [](std::uint16_t a) { return a != 0; })) {
          tree.switches[s] = std::move(of_part.switches[s]);
        }
      }
    }
  } catch (const unicast::RouteError&) {
    return std::nullopt; // this root is in no part with hosts
  }
  return tree;
}

Walked Fabric::walk(std::span<const TableSet* const> sets) const {
  Walked all;
  for (const auto& part : parts) {
    const unicast::Verification found = unicast::verify(network, sets, planned, part);
    all.pairs += found.pairs;
    all.lost += found.stranded + found.at_risk;
    all.most_hops = std::max(all.most_hops, found.most_hops);
    all.vcs_used = std::max(all.vcs_used, found.vcs_used);
    if (!found.acyclic() && all.circle.empty()) {
      all.circle = found.describe(network);
    }
    if (found.stranded + found.at_risk != 0 && all.loses.empty()) {
      all.loses = found.describe(network);
    }
  }
  return all;
}

std::string some_of(std::span<const std::string> names, std::size_t most) {
  const std::size_t named = std::min(names.size(), most);
  const std::string text = fmt::format("{}", fmt::join(names.first(named), ", "));
  return names.size() > named ? fmt::format("{} and {} more", text, names.size() - named) : text;
}

} // namespace tributary::route_controller
