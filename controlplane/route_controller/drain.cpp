#include "controlplane/route_controller/drain.hpp"

#include "controlplane/route_controller/fabric.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/graph_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace tributary::route_controller {
namespace {

using topology::Graph;
using topology::SwitchId;

constexpr std::size_t max_hosts_named = 3;

/// Switches with hosts outside the largest part.
std::set<std::uint32_t> outside(const Graph& graph) {
  const unicast::Network network = unicast::network_of(graph);
  const auto parts = unicast::parts_of(network, unicast::port_states(graph, network),
                                       unicast::endpoints_of(graph));
  std::set<std::uint32_t> others;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    others.insert(parts[i].begin(), parts[i].end());
  }
  return others;
}

} // namespace

CutOff cut_off_by(const Graph& graph, const std::set<SwitchId>& drained, SwitchId more) {
  Graph before = graph;
  for (const SwitchId s : drained) {
    before.set_up(s, false);
  }
  Graph after = before;
  after.set_up(more, false);
  const std::set<std::uint32_t> were_out = outside(before);
  const std::set<std::uint32_t> are_out = outside(after);
  CutOff cut;
  for (const topology::Host& host : graph.hosts()) {
    if (!host.plugged || !host.up || !before[host.at.at].up) {
      continue;
    }
    if (host.at.at == more) {
      cut.on_it.push_back(host.name);
    } else if (are_out.contains(host.at.at.value) && !were_out.contains(host.at.at.value)) {
      cut.behind_it.push_back(host.name);
    }
  }
  std::ranges::sort(cut.on_it);
  std::ranges::sort(cut.behind_it);
  return cut;
}

std::string CutOff::describe(std::string_view switch_name) const {
  std::string text;
  const auto add = [&](const std::vector<std::string>& names, std::string_view one,
                       std::string_view many) {
    if (!names.empty()) {
      text += fmt::format("{}{} host{} {} {} ({})", text.empty() ? "" : ", and ", names.size(),
                          names.size() == 1 ? "" : "s", names.size() == 1 ? one : many, switch_name,
                          some_of(names, max_hosts_named));
    }
  };
  add(on_it, "is attached to", "are attached to");
  add(behind_it, "is reached only through", "are reached only through");
  return text;
}

} // namespace tributary::route_controller
