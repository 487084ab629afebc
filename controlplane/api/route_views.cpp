#include "controlplane/api/route_views.hpp"

#include <boost/json/array.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace tributary::api {
namespace {

namespace json = boost::json;
using topology::Graph;

json::array json_of(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) {
    list.emplace_back(text);
  }
  return list;
}

json::array json_of(const std::vector<topology::Port>& ports) {
  json::array list;
  for (const topology::Port port : ports) {
    list.emplace_back(port);
  }
  return list;
}

json::object json_of(const route_controller::Set& set) {
  json::object one{{"state", std::string(route_controller::name_of(set.state))},
                   {"epoch", set.epoch}};
  if (!set.failure.empty()) {
    one["failure"] = set.failure;
  }
  if (!set.plan) {
    return one;
  }
  const route_controller::Plan& plan = *set.plan;
  one["algorithm"] = plan.algorithm;
  one["policy"] = std::string(route_controller::name_of(plan.policy));
  if (!plan.shape.empty()) {
    one["shape"] = plan.shape;
  }
  if (!plan.why.empty()) {
    one["why"] = plan.why;
  }
  if (plan.held_lost) {
    one["pairs_lost_before"] = *plan.held_lost;
  }
  if (!plan.refused.empty()) {
    one["refused"] = plan.refused;
    return one;
  }
  one["vcs"] = plan.vcs;
  one["vcs_used"] = plan.vcs_used;
  one["pairs"] = plan.pairs;
  one["pairs_lost"] = plan.lost;
  if (plan.lost != 0) {
    one["loses"] = plan.loses;
  }
  one["most_hops"] = plan.most_hops;
  one["mean_load"] = plan.mean_load;
  one["hottest_load"] = plan.hottest_load;
  one["hottest_link"] = plan.hottest_link;
  one["change"] = std::string(route_controller::name_of(plan.change));
  if (plan.parts.size() > 1) {
    json::array parts;
    for (const auto& part : plan.parts) {
      parts.emplace_back(json_of(part));
    }
    one["parts"] = std::move(parts);
  }
  return one;
}

json::object host_of(const Graph& graph, topology::HostId id) {
  return {{"name", graph[id].name},
          {"nid", graph[id].nid.value},
          {"switch", graph[graph[id].at.at].name},
          {"port", graph[id].at.port}};
}

json::object json_of(const faults::Fault& fault) {
  json::object one{{"fault", fault.number},
                   {"cause", std::string(faults::name_of(fault.cause))},
                   {"time", fault.time},
                   {"state", std::string(faults::name_of(fault.state))},
                   {"events", json_of(fault.events)},
                   {"more_events", fault.more_events},
                   {"trees", json_of(fault.trees)},
                   {"destinations", fault.destinations},
                   {"transactions", fault.transactions},
                   {"failures", json_of(fault.failures)}};
  const std::pair<std::string_view, std::optional<std::uint64_t>> steps[] = {
      {"computed_us", fault.us(fault.computed)},
      {"verified_us", fault.us(fault.verified)},
      {"sent_us", fault.us(fault.sent)},
      {"installed_us", fault.us(fault.installed)}};
  for (const auto& [name, us] : steps) {
    if (us) {
      one[name] = *us;
    }
  }
  return one;
}

} // namespace

json::object json_of(const DrainState& state) {
  return {{"switch", state.at},
          {"drained", state.drained},
          {"safe", state.drained && state.through.empty()},
          {"through", json_of(state.through)}};
}

json::object routes_json(const RouteReadView& read_view, TimeNs now) {
  json::object all{{"enabled", read_view.settings.enabled},
                   {"wanted_algorithm", read_view.settings.algorithm},
                   {"wanted_vcs", read_view.settings.vcs}};
  const std::pair<std::string_view, const route_controller::Set*> sets[] = {
      {"in_force", read_view.life.current()},
      {"installing", read_view.life.installing()},
      {"next", read_view.life.next()}};
  for (const auto& [name, set] : sets) {
    if (set != nullptr) {
      all[name] = json_of(*set);
    }
  }
  json::array out_of_sync;
  for (const topology::SwitchId at : read_view.out_of_sync) {
    out_of_sync.emplace_back(read_view.graph[at].name);
  }
  all["out_of_sync"] = std::move(out_of_sync);
  json::array drained;
  for (const DrainState& state : read_view.drained) {
    drained.emplace_back(json_of(state));
  }
  all["drained"] = std::move(drained);
  json::array flapping;
  for (const faults::Damping::Key link : read_view.damping.suppressed()) {
    flapping.push_back(json::object{
        {"link", read_view.graph.describe(topology::LinkId{link})},
        {"flaps", read_view.damping.flaps(link)},
        {"used_again_in_seconds", seconds_of(elapsed_ns(read_view.damping.reused_at(link), now))}});
  }
  all["flapping"] = std::move(flapping);
  return all;
}

json::object path_json(const route_controller::HeldTables& held, const route_controller::Set* set,
                       const Graph& graph, topology::HostId from, topology::HostId to) {
  const route_controller::Path path = route_controller::path_between(held, graph, from, to);
  json::array hops;
  for (const route_controller::PathHop& hop : path.hops) {
    hops.push_back(json::object{{"switch", graph[hop.at].name},
                                {"epoch", hop.epoch},
                                {"in", hop.in},
                                {"out", hop.out},
                                {"vc", hop.vc},
                                {"highest_vc", hop.highest_vc},
                                {"others", json_of(hop.others)},
                                {"spares", json_of(hop.spares)}});
  }
  return {{"from", host_of(graph, from)},
          {"to", host_of(graph, to)},
          {"epoch", set != nullptr ? set->epoch : 0},
          {"algorithm", set != nullptr && set->plan ? set->plan->algorithm : ""},
          {"end", path.unknown ? "unknown_routes" : std::string(forwarding_table::name(path.end))},
          {"hops", std::move(hops)}};
}

json::object faults_json(const faults::FaultLog& log, std::size_t limit) {
  json::array list;
  for (const faults::Fault& fault : log.faults()) {
    if (list.size() == limit) {
      break;
    }
    list.push_back(json_of(fault));
  }
  return {{"count", log.count()}, {"faults", std::move(list)}};
}

} // namespace tributary::api
