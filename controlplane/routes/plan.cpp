#include "controlplane/routes/plan.hpp"

#include "controlplane/routes/candidate.hpp"
#include "controlplane/routes/union.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/graph_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::routes {
namespace {

using topology::Graph;
using topology::SwitchId;
using unicast::TableSet;

constexpr std::size_t names_told = 4;

std::vector<std::string> names_of(const Graph& graph, const std::vector<std::uint32_t>& switches) {
  std::vector<std::string> names;
  for (const std::uint32_t s : switches) {
    names.push_back(graph[SwitchId{s}].name);
  }
  return names;
}

/// Hosts with NIDs in a row on one switch are one run.
std::shared_ptr<const routing::HostRuns> runs_of(const Graph& graph) {
  std::vector<std::pair<Nid, std::uint32_t>> places;
  for (const topology::Host& host : graph.hosts()) {
    if (host.plugged) {
      places.emplace_back(host.nid, host.at.at.value);
    }
  }
  std::ranges::sort(places);
  auto runs = std::make_shared<routing::HostRuns>();
  for (const auto& [nid, at] : places) {
    if (!runs->empty() && runs->back().destination == at &&
        runs->back().first_nid + runs->back().count == nid.value) {
      ++runs->back().count;
    } else {
      runs->push_back({nid.value, 1, at});
    }
  }
  return runs;
}

/// What each switch is to hold beside its table.
class Packing {
public:
  Packing(const Request& request, const Graph& graph)
      : request_(request), graph_(graph), hosts_(runs_of(request.fabric)),
        local_(graph.switches().size()) {
    for (const topology::Host& host : request.fabric.hosts()) {
      if (host.plugged) {
        local_[host.at.at.value].push_back({host.nid, host.at.port});
      }
    }
    for (auto& hosts : local_) {
      std::ranges::sort(hosts, {}, &routing::LocalHost::nid);
    }
  }

  /// Null for switches that are not planned over.
  std::shared_ptr<const routing::Routes> pack(std::uint32_t s, routing::SwitchTable table,
                                              Epoch epoch) const {
    if (!graph_[SwitchId{s}].up) {
      return nullptr;
    }
    auto routes = std::make_shared<routing::Routes>();
    routes->epoch = epoch;
    routes->table = std::move(table);
    routes->hosts = hosts_;
    routes->local = local_[s];
    routes->fabric_ports.assign(routes->table.words, 0);
    for (const topology::Hop& hop : graph_.hops(SwitchId{s})) {
      if (graph_[hop.link].plugged) {
        routes->fabric_ports[hop.port / 64U] |= std::uint64_t{1} << (hop.port % 64U);
      }
    }
    routes->sprayed_dscps = request_.sprayed_dscps;
    return routes;
  }

private:
  const Request& request_;
  const Graph& graph_;
  std::shared_ptr<const routing::HostRuns> hosts_;
  std::vector<std::vector<routing::LocalHost>> local_; ///< by switch
};

/// What a switch told of by its digest, and that is what it is to have: known by that.
void recognise(std::vector<HeldRoutes>& held,
               const std::vector<std::shared_ptr<const RoutesContent>>& contents) {
  for (HeldRoutes& one : held) {
    if (!one.routes && one.at.value < contents.size() && contents[one.at.value] &&
        contents[one.at.value]->digest() == one.digest) {
      one.routes = contents[one.at.value]->shared();
    }
  }
}

void measure(Plan& plan, const Fabric& fabric, const TableSet& tables) {
  for (const auto& part : fabric.parts) {
    const unicast::LinkLoads loads =
        unicast::link_loads(fabric.network, tables, fabric.planned, part);
    plan.mean_load += loads.mean;
    if (loads.hottest > plan.hottest_load) {
      plan.hottest_load = loads.hottest;
      const unicast::Network::End from = fabric.network.end(loads.hottest_link);
      const topology::Attachment end{SwitchId{from.at}, from.port};
      if (const auto link = fabric.graph.link_at(end)) {
        plan.hottest_link = fabric.graph.describe(*link);
      }
    }
  }
}

} // namespace

std::string_view name_of(Change change) {
  constexpr std::array<std::string_view, 3> names{"at_once", "in_between", "withdrawn"};
  return names[static_cast<std::size_t>(change)];
}

Graph without_avoided(const Request& request) {
  Graph graph = request.fabric;
  for (const SwitchId s : request.avoided_switches) {
    graph.set_up(s, false);
  }
  for (const topology::LinkId link : request.avoided_links) {
    graph.set_up(link, false);
  }
  return graph;
}

std::string describe_parts(const std::vector<std::vector<std::string>>& parts) {
  std::string text;
  for (const auto& part : parts) {
    const std::size_t told = std::min(part.size(), names_told);
    std::string names;
    for (std::size_t i = 0; i < told; ++i) {
      names += (i == 0 ? "" : ", ") + part[i];
    }
    text += fmt::format("{}{}{}", text.empty() ? "" : "; ", names,
                        part.size() > told ? fmt::format(" and {} more", part.size() - told) : "");
  }
  return text;
}

Plan make_plan(const Request& request, const std::function<TimeNs()>& now) {
  Plan plan;
  plan.epoch = request.epoch + 1;
  plan.policy = request.settings.policy;

  const Fabric fabric(without_avoided(request), request.fabric);
  for (const auto& part : fabric.parts) {
    plan.parts.push_back(names_of(fabric.graph, part));
  }
  if (request.settings.vcs > request.limit.vcs) {
    plan.refused = fmt::format("the routes use {} virtual channels, and {} carries {}: give the "
                               "links between switches `tags`, or set `vcs` of [routes] to {}",
                               request.settings.vcs, request.limit.where, request.limit.vcs,
                               request.limit.vcs);
    plan.computed = plan.verified = now();
    return plan;
  }
  Candidate found = find_candidate(fabric, request.settings, now);
  plan.computed = found.computed;
  plan.verified = now();
  plan.algorithm = std::move(found.algorithm);
  plan.shape = std::move(found.shape);
  plan.why = std::move(found.why);
  plan.refused = std::move(found.refused);
  plan.vcs = found.tables.vcs;
  plan.pairs = found.pairs;
  plan.most_hops = found.most_hops;
  plan.vcs_used = found.vcs_used;
  if (!plan.refused.empty()) {
    return plan;
  }
  measure(plan, fabric, found.tables);

  const Packing packing(request, fabric.graph);
  for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
    auto routes = packing.pack(s, found.tables.switches[s], plan.epoch);
    plan.contents.push_back(routes ? std::make_shared<const RoutesContent>(std::move(routes))
                                   : nullptr);
  }
  std::vector<HeldRoutes> held = request.held;
  recognise(held, plan.contents);

  const Union old(fabric, held, plan.vcs);
  plan.destinations = names_of(fabric.graph, old.changed_destinations(found.tables));
  Epochs meets = std::make_shared<const std::set<Epoch>>(old.epochs());
  std::optional<TableSet> between;
  if (!old.may_meet(found.tables)) {
    between = old.find_between(found.tables);
    plan.change = between ? Change::in_between : Change::withdrawn;
    if (!between) {
      between = fabric.empty_tables(plan.vcs);
    }
  }
  const Epochs between_meets = std::exchange(
      meets, between ? std::make_shared<const std::set<Epoch>>(std::set{request.epoch}) : meets);
  for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
    if (!plan.contents[s]) {
      continue;
    }
    std::shared_ptr<const RoutesContent> first;
    if (between) {
      first = std::make_shared<const RoutesContent>(
          RoutesContent(packing.pack(s, std::move(between->switches[s]), request.epoch)),
          between_meets, nullptr);
    }
    plan.contents[s] =
        std::make_shared<const RoutesContent>(*plan.contents[s], meets, std::move(first));
  }
  plan.verified = now();
  return plan;
}

std::vector<HeldRoutes> held_routes(std::span<const transaction::Part> parts,
                                    std::span<const std::shared_ptr<const Plan>> known) {
  std::vector<HeldRoutes> held;
  for (const transaction::Part& part : parts) {
    const RoutesContent& content = routes_of(*part.content);
    held.push_back({part.at, content.epoch(), content.digest(), content.shared()});
    for (const auto& plan : known) {
      if (!held.back().routes && plan) {
        recognise(held, plan->contents);
      }
    }
  }
  return held;
}

} // namespace tributary::routes
