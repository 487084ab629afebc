// Switches, hosts and links, as JSON.
#include "controlplane/manager/manager.hpp"

#include "controlplane/manager/view_figures.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;
using topology::Attachment;
using topology::LinkId;
using topology::SwitchId;

namespace {

json::object end_json(const topology::Graph& graph, Attachment end) {
  return {{"switch", graph[end.at].name}, {"port", end.port}};
}

} // namespace

std::string Manager::other_end(Attachment end) const {
  if (const auto host = graph().host_at(end)) {
    return graph()[*host].name;
  }
  if (const auto link = graph().link_at(end)) {
    const topology::Link& c = graph()[*link];
    return graph()[c.ends[c.ends[0] == end ? 1 : 0].at].name;
  }
  return {};
}

std::uint32_t Manager::efi_of(LinkId link) const {
  return link.value < planning_graph_.links().size() ? planner_.efi(link) : 0;
}

json::object Manager::switch_json(SwitchId id) const {
  const TimeNs at = time();
  const topology::Switch& sw = graph()[id];
  const SwitchState* state = id.value < switches_.size() ? &switches_[id.value] : nullptr;
  json::object object{{"name", sw.name},
                      {"guid", fmt::format("{:#018x}", sw.guid)},
                      {"connected", discovery_.is_connected(id)},
                      {"up", sw.up},
                      {"trees", trees::trees_among(coordinator_.wanted_at(id)).size()}};
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
  json::array engines;
  for (topology::Port p = 0; p < sw.ports; ++p) {
    if (const std::uint32_t trees = engines_.trees_at(id, p)) {
      engines.push_back({{"port", p},
                         {"trees", trees},
                         {"may_hold", trees * settings_.groups.descriptors_per_tree}});
    }
  }
  object["engines"] = std::move(engines);
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
  return object;
}

void Manager::list_switches(Page& page, std::uint64_t from) const {
  for (std::uint64_t s = from; s < graph().switches().size() && page.has_room(); ++s) {
    const SwitchId id{static_cast<std::uint32_t>(s)};
    page.add(std::to_string(s), switch_json(id), std::size_t{1} + graph()[id].ports);
  }
}

json::object Manager::host_json(topology::HostId id, const OnlyJob& only) const {
  const topology::Host& host = graph()[id];
  json::array groups;
  for (const group::Group* group : registry_.groups_of(host.nid)) {
    if (sees(only, *group)) {
      groups.emplace_back(fmt::format("{}/{}", group->job, group->name));
    }
  }
  return {{"name", host.name},    {"nid", host.nid.value}, {"switch", graph()[host.at.at].name},
          {"port", host.at.port}, {"up", host.up},         {"groups", std::move(groups)}};
}

/// By NID.
void Manager::list_hosts(Page& page, const OnlyJob& only, const api::ViewRequest& request,
                         std::uint64_t from) const {
  const auto add = [&](topology::HostId id) {
    json::object object = host_json(id, only);
    const std::size_t weight = 1 + object.at("groups").as_array().size();
    page.add(std::to_string(graph()[id].nid.value), std::move(object), weight);
  };
  if (request.at_switch.empty()) {
    for (auto id = graph().first_host_from(from); id && page.has_room();
         id = graph().first_host_from(graph()[*id].nid.value + std::uint64_t{1})) {
      add(*id);
    }
    return;
  }
  std::map<std::uint32_t, topology::HostId> there;
  if (const auto at = graph().find_switch(request.at_switch)) {
    for (topology::Port port = 0; port < graph()[*at].ports; ++port) {
      if (const auto id = graph().host_at({*at, port})) {
        there.emplace(graph()[*id].nid.value, *id);
      }
    }
  }
  for (const auto& [nid, id] : there) {
    if (nid >= from) {
      if (!page.has_room()) {
        return;
      }
      add(id);
    }
  }
}

json::object Manager::link_json(LinkId id) const {
  const topology::Link& link = graph()[id];
  return {{"link", id.value},
          {"a", end_json(graph(), link.ends[0])},
          {"b", end_json(graph(), link.ends[1])},
          {"up", graph().usable(id)},
          {"speed_mbps", link.speed_mbps},
          {"efi", efi_of(id)}};
}

void Manager::list_links(Page& page, const api::ViewRequest& request, std::uint64_t from) const {
  const auto add = [&](LinkId id) { page.add(std::to_string(id.value), link_json(id)); };
  if (request.at_switch.empty()) {
    for (std::uint64_t c = from; c < graph().links().size() && page.has_room(); ++c) {
      add(LinkId{static_cast<std::uint32_t>(c)});
    }
  } else if (const auto at = graph().find_switch(request.at_switch)) {
    for (const topology::Hop& hop : graph().hops(*at)) { // in the order of their numbers
      if (hop.link.value >= from) {
        if (!page.has_room()) {
          return;
        }
        add(hop.link);
      }
    }
  }
}

} // namespace tributary::manager
