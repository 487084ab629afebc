// What people and programs see of the fabric: docs/protocol/manager-api.md, as JSON.
#include "controlplane/manager/manager.hpp"

#include "controlplane/topology/cabling.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;
using topology::Attachment;
using topology::CableId;
using topology::SwitchId;

namespace {

constexpr std::size_t missing_named = 64;

/// Seconds with three digits behind the point.
double seconds(std::uint64_t ns) { return std::round(static_cast<double>(ns) / 1e6) / 1e3; }

json::value seconds_until(TimeNs when, TimeNs now) {
  return when == never ? json::value(nullptr) : json::value(seconds(elapsed_ns(when, now)));
}

json::object end_json(const topology::Graph& graph, Attachment end) {
  return {{"switch", graph[end.at].name}, {"port", end.port}};
}

std::string_view text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->as_string())
                                                : std::string_view{};
}

/// Whether `object` is the one that `id` names: by number for links, trees and transactions, by
/// name otherwise.
bool is_named(const json::object& object, std::string_view key, const std::string& id) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) {
    return false;
  }
  return value->is_string() ? text_of(object, key) == id : json::serialize(*value) == id;
}

} // namespace

// ---- groups ----

json::object Manager::json_of(const group::Group& group) const {
  const TimeNs at = surroundings_.now();
  json::object object{{"name", group.name},
                      {"job", group.job},
                      {"state", std::string(store::name_of(group.state))},
                      {"size", group.size},
                      {"trees", group.trees},
                      {"joined", group.present},
                      {"multicast", group.multicast},
                      {"age_seconds", seconds(elapsed_ns(at, group.created))},
                      {"ends_in_seconds", seconds_until(group.deadline, at)},
                      {"text", describe(group, at)}};
  json::array missing_ones;
  for (const group::Missing& one : group::missing(group, missing_named)) {
    json::object entry{{"rank", one.rank}, {"why", one.why}};
    if (one.nid) {
      entry["nid"] = one.nid->value;
    }
    missing_ones.push_back(std::move(entry));
  }
  object["missing"] = std::move(missing_ones);
  json::array members;
  for (const auto& [rank, member] : group.members) {
    members.push_back({{"rank", rank},
                       {"nid", member.nid.value},
                       {"host", member.host},
                       {"state", std::string(store::name_of(member.state))},
                       {"lease_seconds", seconds_until(member.lease_end, at)}});
  }
  object["members"] = std::move(members);
  if (!group.trouble.empty()) {
    object["trouble"] = group.trouble;
  }
  if (group.root && group.members.contains(*group.root)) {
    const group::Member& root = group.members.at(*group.root);
    object["vni"] = group.vni.value;
    object["root"] = {{"rank", *group.root}, {"nid", root.nid.value}, {"host", root.host}};
  }
  if (group.routed()) {
    const auto routing = routings_.find(group.id);
    json::array routes;
    for (std::size_t i = 0; i < group.routes.size(); ++i) {
      std::uint32_t max_efi = 0;
      if (routing != routings_.end()) {
        for (const CableId cable : routing->second.trees[i].tree.cables) {
          max_efi = std::max(max_efi, efi_of(cable));
        }
      }
      const store::TreeForm& form = group.routes[i].form;
      routes.push_back({{"tree", group.routes[i].number.value},
                        {"switches", form.parts.size()},
                        {"height", form.height},
                        {"max_efi", max_efi}});
    }
    object["routes"] = std::move(routes);
    if (group.trees == 2 && routing != routings_.end()) {
      object["disjoint"] = routing->second.shared.empty();
      object["shared"] = json::value_from(routing->second.shared);
    }
  }
  return object;
}

json::object Manager::membership(const group::Group& group, std::uint32_t rank) const {
  json::array trees;
  for (const group::GroupTree& tree : group.routes) {
    trees.push_back(tree.number.value);
  }
  const auto routing = routings_.find(group.id);
  return {{"group", group.name},
          {"job", group.job},
          {"state", std::string(store::name_of(group.state))},
          {"rank", rank},
          {"size", group.size},
          {"vni", group.vni.value},
          {"cookie", group.cookie.value},
          {"root_rank", *group.root},
          {"root_nid", group.members.at(*group.root).nid.value},
          {"trees", std::move(trees)},
          {"disjoint", routing != routings_.end() && routing->second.shared.empty()},
          {"lease_seconds", seconds(settings_.groups.lease_ns)}};
}

// ---- the fabric ----

std::string Manager::other_end(Attachment end) const {
  if (const auto host = graph().host_at(end)) {
    return graph()[*host].name;
  }
  if (const auto cable = graph().cable_at(end)) {
    const topology::Cable& c = graph()[*cable];
    return graph()[c.ends[c.ends[0] == end ? 1 : 0].at].name;
  }
  return {};
}

std::uint32_t Manager::efi_of(CableId cable) const {
  return cable.value < planning_graph_.cables().size() ? planner_.efi(cable) : 0;
}

json::array Manager::switches_json() const {
  const TimeNs at = surroundings_.now();
  json::array list;
  for (std::uint32_t s = 0; s < graph().switches().size(); ++s) {
    const SwitchId id{s};
    const topology::Switch& sw = graph()[id];
    const SwitchState* state = s < switches_.size() ? &switches_[s] : nullptr;
    json::object object{{"name", sw.name},
                        {"guid", fmt::format("{:#018x}", sw.guid)},
                        {"connected", discovery_.is_connected(id)},
                        {"up", sw.up}};
    std::size_t trees = 0;
    for (const auto& [group, routing] : routings_) {
      for (const RoutedTree& one : routing.trees) {
        trees += static_cast<std::size_t>(
            std::count_if(one.parts.begin(), one.parts.end(),
                          [&](const multicast::TreePart& part) { return part.at == id; }));
      }
    }
    object["trees"] = trees;
    json::array ports;
    for (topology::Port p = 0; p < sw.ports; ++p) {
      const control::Port* said = discovery_.port({id, p});
      if (said == nullptr) {
        continue;
      }
      ports.push_back({{"port", p},
                       {"name", said->name()},
                       {"up", said->up()},
                       {"speed_mbps", said->speed_mbps()},
                       {"to", other_end({id, p})}});
    }
    object["ports"] = std::move(ports);
    if (state != nullptr && state->heard != TimeNs{}) {
      object["version"] = state->software;
      object["limits"] = {{"trees", state->limits.trees()},
                          {"ports", state->limits.ports()},
                          {"descriptors_per_engine", state->limits.descriptors_per_engine()}};
      object["silent_seconds"] = seconds(elapsed_ns(at, state->heard));
      json::array statistics;
      for (const auto& [number, port] : state->ports) {
        json::object drops;
        for (const auto& [reason, count] : port.drops()) {
          drops[reason] = count;
        }
        statistics.push_back({{"port", number},
                              {"received", port.received()},
                              {"sent", port.sent()},
                              {"drops", std::move(drops)},
                              {"armed", port.armed()},
                              {"arm_failed", port.arm_failed()},
                              {"full", port.full()},
                              {"partial", port.partial()}});
      }
      object["statistics"] = {{"descriptors_in_use", state->descriptors_in_use},
                              {"ports", std::move(statistics)}};
    }
    list.push_back(std::move(object));
  }
  return list;
}

json::array Manager::hosts_json() const {
  json::array list;
  for (const topology::Host& host : graph().hosts()) {
    json::array groups;
    for (const group::Group* group : registry_.groups_of(host.nid)) {
      groups.emplace_back(fmt::format("{}/{}", group->job, group->name));
    }
    list.push_back({{"name", host.name},
                    {"nid", host.nid.value},
                    {"switch", graph()[host.at.at].name},
                    {"port", host.at.port},
                    {"up", host.up},
                    {"groups", std::move(groups)}});
  }
  return list;
}

json::array Manager::links_json() const {
  json::array list;
  for (std::uint32_t c = 0; c < graph().cables().size(); ++c) {
    const topology::Cable& cable = graph()[CableId{c}];
    list.push_back({{"link", c},
                    {"a", end_json(graph(), cable.ends[0])},
                    {"b", end_json(graph(), cable.ends[1])},
                    {"up", graph().usable(CableId{c})},
                    {"speed_mbps", cable.speed_mbps},
                    {"efi", efi_of(CableId{c})}});
  }
  return list;
}

json::object Manager::topology_json() const {
  json::array problems;
  for (const topology::Problem& problem : discovery_.problems()) {
    problems.emplace_back(problem.text);
  }
  json::array miscabled;
  if (settings_.expected) {
    for (const std::string& wrong : topology::check_cabling(*settings_.expected, graph())) {
      miscabled.emplace_back(wrong);
    }
  }
  return {{"switches", switches_json()},
          {"hosts", hosts_json()},
          {"links", links_json()},
          {"problems", std::move(problems)},
          {"miscabled", std::move(miscabled)}};
}

json::object Manager::tree_json(const group::Group& group, std::size_t index) const {
  const group::GroupTree& tree = group.routes[index];
  const auto port_json = [&](SwitchId at, topology::Port port) {
    return json::object{{"port", port}, {"to", other_end({at, port})}};
  };
  json::array parts;
  json::array statistics;
  for (const store::TreeForm::Part& part : tree.form.parts) {
    const auto at = graph().find_switch(part.at);
    json::array children;
    for (const topology::Port port : part.children) {
      children.push_back(at ? port_json(*at, port) : json::object{{"port", port}});
    }
    parts.push_back(
        {{"switch", part.at},
         {"parent", at ? port_json(*at, part.parent) : json::object{{"port", part.parent}}},
         {"children", std::move(children)},
         {"wait_count", part.wait_count},
         {"depth", part.depth}});
    if (at && at->value < switches_.size()) {
      const auto found = switches_[at->value].trees.find(tree.number.value);
      if (found != switches_[at->value].trees.end()) {
        statistics.push_back({{"switch", part.at},
                              {"full", found->second.full()},
                              {"partial", found->second.partial()},
                              {"late", found->second.late()},
                              {"passed_through", found->second.passed_through()},
                              {"stale", found->second.stale()}});
      }
    }
  }
  json::object root;
  if (group.root && group.members.contains(*group.root)) {
    const group::Member& member = group.members.at(*group.root);
    root = {{"rank", *group.root}, {"nid", member.nid.value}, {"host", member.host}};
    if (const auto host = graph().find_host(member.nid)) {
      root["switch"] = graph()[graph()[*host].at.at].name;
    }
  }
  return {{"tree", tree.number.value},
          {"job", group.job},
          {"group", group.name},
          {"vni", group.vni.value},
          {"state",
           coordinator_.behind(tree.number).empty() && coordinator_.wanted(tree.number) != nullptr
               ? "in_force"
               : "changing"},
          {"algorithm", tree.form.algorithm},
          {"center", tree.form.center},
          {"height", tree.form.height},
          {"root", std::move(root)},
          {"parts", std::move(parts)},
          {"statistics", std::move(statistics)}};
}

json::array Manager::trees_json() const {
  json::array list;
  for (const group::Group* group : registry_.groups()) {
    for (std::size_t i = 0; i < group->routes.size(); ++i) {
      list.push_back(tree_json(*group, i));
    }
  }
  return list;
}

json::array Manager::transactions_json() const {
  const TimeNs at = surroundings_.now();
  json::array list;
  for (const install::TransactionView& view : coordinator_.transactions()) {
    json::array steps;
    for (const auto& step : view.steps) {
      steps.push_back(
          {{"switch", graph()[step.at].name}, {"state", std::string(install::name(step.state))}});
    }
    json::array waits_for;
    for (const SwitchId s : view.waits_for) {
      waits_for.emplace_back(graph()[s].name);
    }
    list.push_back({{"transaction", view.number.value},
                    {"tree", view.tree ? json::value(view.tree->value) : json::value(nullptr)},
                    {"what", std::string(install::name(view.purpose))},
                    {"state", std::string(install::name(view.state))},
                    {"switches", std::move(steps)},
                    {"waits_for", std::move(waits_for)},
                    {"age_seconds", seconds(elapsed_ns(at, view.since))},
                    {"text", view.text}});
  }
  return list;
}

json::array Manager::jobs_json() const {
  json::array list;
  for (const group::Job* job : registry_.jobs()) {
    json::array groups;
    for (const auto& [name, id] : job->groups) {
      groups.emplace_back(name);
    }
    list.push_back({{"job", job->id},
                    {"mcast_limit", job->multicast_limit},
                    {"groups", std::move(groups)},
                    {"vni", job->vni ? json::value(job->vni->value) : json::value(nullptr)}});
  }
  return list;
}

/// Whoever may look at one thing may look at all.
std::optional<rest::Answer> Manager::refuse_events(const rest::Caller& caller) {
  if (caller.administrator || !settings_.open_job.empty()) {
    return std::nullopt;
  }
  if (caller.token.empty()) {
    return rest::refusal(401, "this needs a token: Authorization: Bearer TOKEN");
  }
  if (const auto job = registry_.job_of_token(caller.token); !job) {
    return rest::refusal(job.refusal().status, job.refusal().message);
  }
  return std::nullopt;
}

void Manager::view(const rest::Caller& caller, rest::View what,
                   const std::optional<std::string>& id, rest::Reply reply) {
  if (what == rest::View::jobs && !caller.administrator) {
    return reply(rest::refusal(403, "the list of jobs is the administrator's"));
  }
  if (auto refused = refuse_events(caller)) {
    return reply(std::move(*refused));
  }
  if (what == rest::View::topology) {
    return reply({200, topology_json(), 0});
  }
  const auto groups_json = [&] {
    json::array list;
    for (const group::Group* group : registry_.groups()) {
      list.push_back(json_of(*group));
    }
    return list;
  };
  struct Listing {
    std::string_view name;
    std::string_view key;
    json::array list;
  };
  const auto listing = [&]() -> Listing {
    switch (what) {
    case rest::View::switches: return {"switches", "name", switches_json()};
    case rest::View::hosts: return {"hosts", "name", hosts_json()};
    case rest::View::links: return {"links", "link", links_json()};
    case rest::View::groups: return {"groups", "name", groups_json()};
    case rest::View::trees: return {"trees", "tree", trees_json()};
    case rest::View::transactions: return {"transactions", "transaction", transactions_json()};
    case rest::View::jobs: return {"jobs", "job", jobs_json()};
    case rest::View::topology: break;
    }
    return {};
  }();
  if (!id) {
    return reply({200, json::object{{listing.name, listing.list}}, 0});
  }
  for (const json::value& entry : listing.list) {
    if (is_named(entry.as_object(), listing.key, *id)) {
      return reply({200, entry, 0});
    }
  }
  reply(rest::refusal(404,
                      fmt::format("there is no {} of {} \"{}\"", listing.name, listing.key, *id)));
}

} // namespace tributary::manager
