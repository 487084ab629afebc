// Switches, hosts and links, as JSON.
#include "controlplane/api/views.hpp"

#include "controlplane/api/view_figures.hpp"
#include "controlplane/trees/tree_kind.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace tributary::api {

namespace json = boost::json;
using topology::Attachment;
using topology::LinkId;
using topology::SwitchId;

namespace {

json::object end_json(const topology::Graph& graph, Attachment end) {
  return {{"switch", graph[end.at].name}, {"port", end.port}};
}

} // namespace

json::object Views::switch_json(SwitchId id) const {
  const topology::Switch& sw = graph()[id];
  const southbound::protocol::SwitchReport* state =
      id.value < read_view_->switches.size() ? &read_view_->switches[id.value] : nullptr;
  json::object object{{"name", sw.name},
                      {"guid", fmt::format("{:#018x}", sw.guid)},
                      {"connected", read_view_->discovery.is_connected(id)},
                      {"up", sw.up},
                      {"trees", trees::trees_among(read_view_->coordinator.wanted_at(id)).size()}};
  json::array ports;
  for (topology::Port p = 0; p < sw.ports; ++p) {
    const control::Port* said = read_view_->discovery.port({id, p});
    if (said == nullptr) {
      continue;
    }
    ports.push_back({{"port", p},
                     {"name", said->name()},
                     {"up", said->up()},
                     {"speed_mbps", said->speed_mbps()},
                     {"to", graph().name_behind({id, p})}});
  }
  object["ports"] = std::move(ports);
  json::array engines;
  for (topology::Port p = 0; p < sw.ports; ++p) {
    if (const std::uint32_t trees = read_view_->engines.trees_at(id, p)) {
      engines.push_back({{"port", p},
                         {"trees", trees},
                         {"may_hold", trees * read_view_->settings.descriptors_per_tree}});
    }
  }
  object["engines"] = std::move(engines);
  if (state != nullptr && state->heard != TimeNs{}) {
    object["version"] = state->software;
    object["limits"] = {{"trees", state->limits.trees()},
                        {"ports", state->limits.ports()},
                        {"descriptors_per_engine", state->limits.descriptors_per_engine()},
                        {"wide_payload", state->limits.wide_payload()},
                        {"wide_slots", state->limits.wide_slots()},
                        {"wide_memory", state->limits.wide_memory()},
                        {"wide_forms", state->limits.wide_forms()}};
    object["silent_seconds"] = seconds(elapsed_ns(at_, state->heard));
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

void Views::list_switches(Page& page, std::uint64_t from) const {
  for (std::uint64_t s = from; s < graph().switches().size() && page.has_room(); ++s) {
    const SwitchId id{static_cast<std::uint32_t>(s)};
    page.add(std::to_string(s), switch_json(id), std::size_t{1} + graph()[id].ports);
  }
}

json::object Views::host_json(topology::HostId id, const OnlyJob& only) const {
  const topology::Host& host = graph()[id];
  json::array groups;
  for (const group::Group* group : read_view_->registry.groups_of(host.nid)) {
    if (sees(only, *group)) {
      groups.emplace_back(group->full_name());
    }
  }
  return {{"name", host.name},
          {"nid", host.nid.value},
          {"switch", graph()[host.at.at].name},
          {"port", host.at.port},
          {"up", host.up},
          {"state", topology::name_of(read_view_->discovery.state_of(id))},
          {"since_seconds", seconds(elapsed_ns(at_, read_view_->discovery.up_or_down_since(id)))},
          {"groups", std::move(groups)}};
}

/// By NID.
void Views::list_hosts(Page& page, const OnlyJob& only, const ViewRequest& request,
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

json::object Views::link_json(LinkId id) const {
  const topology::Link& link = graph()[id];
  return {{"link", id.value},
          {"a", end_json(graph(), link.ends[0])},
          {"b", end_json(graph(), link.ends[1])},
          {"up", graph().usable(id)},
          {"speed_mbps", link.speed_mbps},
          {"efi", read_view_->planner.efi(id)}};
}

void Views::list_links(Page& page, const ViewRequest& request, std::uint64_t from) const {
  const auto add = [&](LinkId id) { page.add(std::to_string(id.value), link_json(id)); };
  if (request.at_switch.empty()) {
    for (std::uint64_t c = from; c < graph().links().size() && page.has_room(); ++c) {
      add(LinkId{static_cast<std::uint32_t>(c)});
    }
  } else if (const auto at = graph().find_switch(request.at_switch)) {
    for (const topology::Hop& hop : graph().hops(*at)) { // in order of port numbers
      if (hop.link.value >= from) {
        if (!page.has_room()) {
          return;
        }
        add(hop.link);
      }
    }
  }
}

} // namespace tributary::api
