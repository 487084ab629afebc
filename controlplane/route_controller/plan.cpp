#include "controlplane/route_controller/plan.hpp"

#include "controlplane/route_controller/candidate.hpp"
#include "controlplane/unicast/graph_network.hpp"
#include "controlplane/unicast/graph_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::route_controller {
namespace {

using topology::Graph;
using topology::SwitchId;
using unicast::TableSet;

std::vector<std::string> names_of(const Graph& graph, const std::vector<std::uint32_t>& switches) {
  std::vector<std::string> names;
  for (const std::uint32_t s : switches) {
    names.push_back(graph[SwitchId{s}].name);
  }
  return names;
}

/// Hosts with consecutive NIDs on one switch form one run.
std::shared_ptr<const forwarding_table::HostRuns> runs_of(const Graph& graph) {
  std::vector<std::pair<Nid, std::uint32_t>> places;
  for (const topology::Host& host : graph.hosts()) {
    if (host.plugged) {
      places.emplace_back(host.nid, host.at.at.value);
    }
  }
  std::ranges::sort(places);
  auto runs = std::make_shared<forwarding_table::HostRuns>();
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

/// The content for each switch besides its table.
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
      std::ranges::sort(hosts, {}, &forwarding_table::LocalHost::nid);
    }
  }

  /// Null for switches outside of the planned graph.
  std::shared_ptr<const forwarding_table::Routes>
  pack(std::uint32_t s, forwarding_table::SwitchTable table, Epoch epoch) const {
    if (!graph_[SwitchId{s}].up) {
      return nullptr;
    }
    auto routes = std::make_shared<forwarding_table::Routes>();
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
  std::shared_ptr<const forwarding_table::HostRuns> hosts_;
  std::vector<std::vector<forwarding_table::LocalHost>> local_; ///< by switch
};

/// Resolves a reported digest that equals a planned content.
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

/// Switches that frames can reach from a reachable one. What others hold does not matter: no frame
/// that uses new tables gets there.
std::vector<bool> reached(const Graph& graph, const std::set<SwitchId>& without_channel) {
  std::vector<bool> reached(graph.switches().size());
  std::vector<SwitchId> next;
  const auto reach = [&](SwitchId at) {
    if (!reached[at.value]) {
      reached[at.value] = true;
      next.push_back(at);
    }
  };
  for (std::uint32_t s = 0; s < reached.size(); ++s) {
    if (!without_channel.contains(SwitchId{s})) {
      reach(SwitchId{s});
    }
  }
  while (!next.empty()) {
    const SwitchId from = next.back();
    next.pop_back();
    for (const topology::Hop& hop : graph.hops(from)) {
      if (graph[hop.link].plugged && graph.usable(hop.link)) {
        reach(hop.to);
      }
    }
  }
  return reached;
}

class Planning {
public:
  Planning(const Request& request, const std::function<TimeNs()>& now)
      : request_(request), now_(now), fabric_(without_avoided(request), request.fabric) {
    const std::vector<bool> counts = reached(request.fabric, request.without_channel);
    for (const HeldRoutes& one : request.held) {
      if (one.at.value < counts.size() && counts[one.at.value]) {
        held_.push_back(one);
        if (request.without_channel.contains(one.at)) {
          stays_.push_back(one);
        }
      }
    }
  }

  Plan run() {
    plan_.epoch = request_.epoch + 1;
    plan_.policy = request_.settings.policy;
    for (const auto& part : fabric_.parts) {
      plan_.parts.push_back(names_of(fabric_.graph, part));
    }
    if (request_.settings.vcs > request_.limit.vcs) {
      plan_.refused = fmt::format(
          "the routes use {} virtual channels, and {} carries {}: give the links "
          "between switches `tags`, or set `vcs` of [routes] to {}",
          request_.settings.vcs, request_.limit.where, request_.limit.vcs, request_.limit.vcs);
      plan_.computed = plan_.verified = now_();
      return std::move(plan_);
    }
    choose();
    plan_.verified = now_();
    if (plan_.refused.empty()) {
      pack();
      plan_.verified = now_();
    }
    return std::move(plan_);
  }

private:
  /// Whether exactly those reachable switches hold routes that are to have some.
  [[nodiscard]] bool right_ones_hold() const {
    std::vector<bool> has(fabric_.switches());
    for (const HeldRoutes& one : held_) {
      has[one.at.value] = true;
    }
    for (std::uint32_t s = 0; s < fabric_.switches(); ++s) {
      if (has[s] != fabric_.graph[SwitchId{s}].up &&
          !request_.without_channel.contains(SwitchId{s})) {
        return false;
      }
    }
    return true;
  }

  void choose() {
    const std::uint8_t vcs = request_.settings.vcs;
    const Union old(fabric_, held_, vcs);
    const bool may_stay = old.holds_any() && right_ones_hold();
    Walked by_held; // a walk of the whole fabric: only where it decides
    const auto count_lost_by_held = [&] {
      if (!plan_.held_lost && old.holds_any() && old.is_known()) {
        by_held = old.walk_with(fabric_.empty_tables(vcs));
        plan_.held_lost = by_held.lost;
      }
    };
    const Union standing(fabric_, stays_, vcs);
    found_ = find_candidate({.fabric = fabric_,
                             .settings = request_.settings,
                             .standing = standing,
                             .may_stay =
                                 [&] {
                                   count_lost_by_held();
                                   return may_stay && plan_.held_lost == 0 &&
                                          request_.held_algorithm == request_.settings.algorithm;
                                 },
                             .now = now_});
    if (standing.holds_any() && !found_.serves_all()) {
      try_around(standing);
    }
    plan_.algorithm = found_.algorithm;
    plan_.shape = found_.shape;
    plan_.why = found_.why;
    plan_.refused = found_.refused;
    plan_.vcs = found_.tables.vcs;
    plan_.pairs = found_.walked.pairs;
    plan_.lost = found_.walked.lost;
    plan_.loses = found_.walked.loses;
    plan_.most_hops = found_.walked.most_hops;
    plan_.vcs_used = found_.walked.vcs_used;
    plan_.computed = found_.computed;
    if (!found_.serves_all()) {
      count_lost_by_held();
    }
    if (plan_.refused.empty() && may_stay && plan_.lost != 0 && plan_.held_lost &&
        *plan_.held_lost <= plan_.lost) {
      plan_.refused = plan_.loses;
    }
    if (!plan_.refused.empty() && plan_.held_lost) {
      plan_.refused +=
          fmt::format("; switches keep theirs, with which {} of {} pairs have no route",
                      *plan_.held_lost, by_held.pairs);
    }
  }

  /// Leads no frames to unreachable switches.
  void try_around(const Union& standing) {
    Graph graph = fabric_.graph;
    for (const HeldRoutes& one : stays_) {
      graph.set_up(one.at, false);
    }
    around_.emplace(std::move(graph), request_.fabric);
    const Union none(*around_, {}, request_.settings.vcs);
    Candidate around = find_candidate({.fabric = *around_,
                                       .settings = request_.settings,
                                       .standing = none,
                                       .may_stay = [] { return false; },
                                       .now = now_});
    if (!around.refused.empty() || (standing.is_known() && !standing.may_meet(around.tables))) {
      around_.reset();
      return;
    }
    const Walked mixed = standing.walk_with(around.tables);
    around.walked.lost = mixed.lost;
    around.walked.pairs = mixed.pairs;
    around.walked.loses = mixed.loses;
    if (!around.beats(found_)) {
      around_.reset();
      return;
    }
    around.why = fmt::format("around {} without a channel: {}", standing.describe_holders(),
                             found_.refused.empty() ? found_.walked.loses : found_.refused);
    found_ = std::move(around);
  }

  void pack() {
    const Fabric& fabric = around_ ? *around_ : fabric_;
    measure(plan_, fabric, found_.tables);
    const Packing packing(request_, fabric.graph);
    auto final_meets = std::make_shared<Meets>();
    for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
      auto routes = packing.pack(s, found_.tables.switches[s], plan_.epoch);
      plan_.contents.push_back(routes ? std::make_shared<const RoutesContent>(std::move(routes))
                                      : nullptr);
      final_meets->digests.push_back(plan_.contents[s] ? plan_.contents[s]->digest() : 0);
    }
    recognise(held_, plan_.contents);
    recognise(stays_, plan_.contents);

    const Union old(fabric, held_, plan_.vcs);
    plan_.destinations = names_of(fabric.graph, old.changed_destinations(found_.tables));
    std::optional<TableSet> between;
    if (!old.may_meet(found_.tables)) {
      between = old.find_between(found_.tables, Union(fabric, stays_, plan_.vcs));
      plan_.change = between ? Change::in_between : Change::withdrawn;
      if (!between) {
        between = fabric.empty_tables(plan_.vcs);
      }
    }
    auto between_meets = std::make_shared<Meets>();
    if (between) {
      final_meets->sets.insert(request_.epoch);
    }
    for (const HeldRoutes& one : request_.held) {
      between_meets->parts.emplace(one.at, one.epoch);
      if (!between || request_.without_channel.contains(one.at)) {
        final_meets->parts.emplace(one.at, one.epoch);
      }
    }
    for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
      if (!plan_.contents[s]) {
        continue;
      }
      std::shared_ptr<const RoutesContent> first;
      if (between) {
        first = std::make_shared<const RoutesContent>(
            RoutesContent(packing.pack(s, std::move(between->switches[s]), request_.epoch)),
            between_meets, nullptr);
      }
      plan_.contents[s] =
          std::make_shared<const RoutesContent>(*plan_.contents[s], final_meets, std::move(first));
    }
  }

  const Request& request_;
  const std::function<TimeNs()>& now_;
  Fabric fabric_;
  std::optional<Fabric> around_;  ///< without unreachable switches, where they are left out
  std::vector<HeldRoutes> held_;  ///< where frames arrive
  std::vector<HeldRoutes> stays_; ///< the part of these that stays, whatever is planned
  Candidate found_;
  Plan plan_;
};

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
  std::vector<std::string> texts;
  for (const auto& part : parts) {
    texts.push_back(some_of(part));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

Plan make_plan(const Request& request, const std::function<TimeNs()>& now) {
  return Planning(request, now).run();
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

} // namespace tributary::route_controller
