#include "controlplane/job_controller/allocation_answer.hpp"

#include "controlplane/api/slingshot.hpp"
#include "controlplane/group/quota.hpp"
#include "controlplane/job/allocation.hpp"
#include "lib/rdma_policy/policy_text.hpp"

#include <boost/json/value_from.hpp>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tributary::job_controller {

namespace json = boost::json;

namespace {

/// The times between this many nodes are half a megabyte; larger jobs get times between classes.
constexpr std::size_t most_nodes_with_times = 256;
constexpr std::uint32_t most_classes = 256;

template <typename V>
json::object value_of(std::string_view name, std::string_view use, std::string_view type,
                      const V& value) {
  return {{"name", name}, {"use", use}, {type, json::value_from(value)}};
}

std::optional<Vni> vni_of(const group::Job& job) {
  return job.vni                          ? job.vni
         : job.vnis && !job.vnis->empty() ? std::optional(job.vnis->front())
                                          : std::nullopt;
}

} // namespace

std::vector<NodePlace> places_of(const topology::Graph& graph,
                                 const api::AllocationRequest& request) {
  std::vector<NodePlace> places;
  for (const api::AllocationRequest::Node& node : request.nodes) {
    NodePlace place;
    const job::Interface* const interface = job::fabric_interface(
        node.inventory.interfaces, request.interface,
        [&](Nid nid) {
          const auto host = graph.find_host(nid);
          return host ? std::string_view(graph[*host].name) : std::string_view();
        },
        node.inventory.host.empty() ? node.name : node.inventory.host);
    if (interface != nullptr) {
      place.interface = interface->name;
      place.address = interface->address;
      place.nid = job::fabric_address(interface->address)->nid;
    } else if (const auto host = graph.find_host(std::string_view(node.name));
               host && node.inventory.interfaces.empty()) {
      place.nid = graph[*host].nid; // it says nothing of itself
    }
    if (const auto host = place.nid ? graph.find_host(*place.nid) : std::nullopt;
        host && graph[*host].plugged) {
      place.at = graph[*host].at.at;
    }
    places.push_back(std::move(place));
  }
  return places;
}

void AllocationAnswer::add_route_times(json::array& values,
                                       const std::vector<NodePlace>& places) const {
  std::vector<std::optional<topology::SwitchId>> switches;
  for (const NodePlace& place : places) {
    switches.push_back(place.at);
  }
  if (places.size() <= most_nodes_with_times) {
    if (const auto times = job::relative_route_times(graph(), switches); !times.empty()) {
      values.push_back(value_of("fm.routetime", "job", "reals", times));
    }
    return;
  }
  const job::RouteClasses classes = job::route_classes(graph(), switches, most_classes);
  if (classes.count == 0) {
    return;
  }
  values.push_back(value_of("fm.routetime.class", "job", "numbers", classes.of_node));
  values.push_back(value_of("fm.routetime.between", "job", "reals", classes.times));
  values.push_back(
      value_of("fm.routetime.error", "job", "reals", std::array<double, 1>{classes.error}));
}

json::object AllocationAnswer::to(const api::AllocationRequest& request, const std::string& cookie,
                                  job::PortPolicy policy) const {
  const std::vector<NodePlace> places = places_of(graph(), request);
  const group::Job& job = *rooms_.registry.find_job(request.job);
  const std::optional<Vni> vni = vni_of(job);
  json::array values;
  values.push_back(value_of("fm.job", "job", "text", job.id));
  values.push_back(value_of("fm.mcast", "job", "number", job.multicast_limit));
  values.push_back(value_of("fm.cookie", "job", "hex", cookie));
  if (vni) {
    values.push_back(value_of("fm.vni", "job", "number", vni->value));
    values.push_back(
        value_of("TRIBUTARY_VNI", "environment", "text", fmt::format("{}", vni->value)));
    values.push_back(value_of("fm.rdma.policy", "local_resource", "text",
                              rdma_policy::text_of(rooms_.rdma.read_view().document.of(*vni))));
  }
  values.push_back(value_of("TRIBUTARY_JOB_ID", "environment", "text", job.id));
  values.push_back(value_of("TRIBUTARY_FABRIC_MANAGER_TOKEN", "environment", "text", job.token));
  add_route_times(values, places);
  json::array nodes;
  json::array notes;
  if (job.multicast_limit == 0) {
    notes.push_back(json::value(group::no_groups(job.id)));
  }
  const bool sets_up = policy != job::PortPolicy::open;
  if (!vni && sets_up) {
    notes.push_back(json::value(fmt::format(
        "job {} has no VNI before its first group: its nodes' ports are left as they are",
        job.id)));
  }
  for (std::size_t n = 0; n < places.size(); ++n) {
    const NodePlace& place = places[n];
    json::object node{{"name", request.nodes[n].name}};
    json::array ranks;
    for (std::size_t local = 0; local < request.nodes[n].ranks.size(); ++local) {
      json::object rank{{"rank", request.nodes[n].ranks[local]}};
      if (!place.address.empty()) {
        rank["end_point"] = fmt::format("{}:{}", place.address, local);
      }
      ranks.push_back(std::move(rank));
    }
    node["ranks"] = std::move(ranks);
    json::array own;
    if (place.nid) {
      node["nid"] = place.nid->value;
      if (!place.interface.empty()) {
        own.push_back(value_of("fm.interface", "local_resource", "text", place.interface));
        own.push_back(value_of("fm.address", "local_resource", "text", place.address));
        own.push_back(value_of("TRIBUTARY_MPI_INTERFACE", "environment", "text", place.interface));
      }
      if (vni && sets_up && !place.at) {
        notes.push_back(json::value(fmt::format(
            "{}: no switch has learned of host {} yet; its port is set up when one does",
            request.nodes[n].name, place.nid->value)));
      }
    } else {
      notes.emplace_back(
          request.interface.empty()
              ? fmt::format("{} has no interface with a fabric address (02:00:00:0H:HH:HH), and "
                            "none by which the fabric knows a host of its name; --interface names "
                            "one, and tributary-hostd on the node announces it",
                            request.nodes[n].name)
              : fmt::format("{} has no interface {} with a MAC address that names a host",
                            request.nodes[n].name, request.interface));
    }
    node["values"] = std::move(own);
    nodes.push_back(std::move(node));
  }
  return {{"job", job.id},
          {"token", job.token},
          {"events_after", rooms_.events.last_number()},
          {"values", std::move(values)},
          {"nodes", std::move(nodes)},
          {"notes", std::move(notes)}};
}

} // namespace tributary::job_controller
