// What launchers ask for: the allocation of a job, as one blob, and what its nodes have.
//
// What a job was given is stored with it; what nodes have is not: a manager that is started anew
// hears of nodes with the next job that runs there.
#include "controlplane/api/job_requests.hpp"
#include "controlplane/api/page.hpp"
#include "controlplane/api/slingshot.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/job/allocation.hpp"
#include "controlplane/manager/manager.hpp"
#include "endpoint/rdma/policy_text.hpp"

#include <boost/json/value_from.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

namespace json = boost::json;

namespace {

/// The times of so many nodes are half a megabyte; between classes of nodes, for more of them.
constexpr std::size_t most_nodes_with_times = 256;
constexpr std::uint32_t most_classes = 256;
/// For switches to hear of hosts that say hello when a job begins.
constexpr std::uint64_t host_patience_ns = 1'000'000'000;

template <typename V>
json::object value_of(std::string_view name, std::string_view use, std::string_view type,
                      const V& value) {
  return {{"name", name}, {"use", use}, {type, json::value_from(value)}};
}

/// Several runs of one job have its cookie, and all their nodes.
void add_what_was(records::Allocation& now, const records::Allocation& before) {
  now.cookie = before.cookie;
  now.has_made_job = before.has_made_job;
  std::map<std::string, records::Allocation::Node> all;
  for (const records::Allocation::Node& node : now.nodes) {
    all.emplace(node.name, node);
  }
  for (const records::Allocation::Node& node : before.nodes) {
    records::Allocation::Node& known = all.emplace(node.name, node).first->second;
    known.sets_up_port |= node.sets_up_port && node.nid == known.nid;
  }
  now.nodes.clear();
  for (auto& [name, node] : all) {
    now.nodes.push_back(std::move(node));
  }
}

std::optional<Vni> vni_of(const group::Job& job) {
  return job.vni                          ? job.vni
         : job.vnis && !job.vnis->empty() ? std::optional(job.vnis->front())
                                          : std::nullopt;
}

} // namespace

// ---- nodes ----

void Manager::take_inventory(const std::string& node, job::NodeInventory inventory,
                             const std::string& job) {
  const std::vector<Nid> hosts = job::hosts_of(inventory);
  const auto different = nodes_.report(node, std::move(inventory), job, now());
  if (!different || different->empty()) {
    return; // no room for more of them, the first report, or the same once more
  }
  JobNames jobs = touched_.of_hosts({hosts.begin(), hosts.end()});
  for (const group::Job* each : registry_.jobs()) {
    if (each->allocation && records::has_node(*each->allocation, node)) {
      jobs.insert(each->id);
    }
  }
  events_.tell_jobs("node", fmt::format("node {}: {}", node, *different), {{"node", node}},
                    "node_changed", std::move(jobs));
}

void Manager::report_node(const api::Caller& caller, const api::NodeReport& report,
                          api::Reply reply) {
  const Section section(stalls_, "a report of a node");
  std::string job;
  if (!caller.administrator || !report.job.empty()) {
    const auto allowed = access_.job_to_see(caller, report.job, reply);
    if (!allowed) {
      return;
    }
    job = *allowed;
  }
  const records::Allocation* const allocation = allocation_of(job);
  const job::NodeTable::Node* const known = nodes_.find(report.name);
  const bool is_its_own = allocation != nullptr ? records::has_node(*allocation, report.name)
                                                : known == nullptr || known->job == job;
  if (!caller.administrator && !is_its_own) {
    return reply(api::error_answer(
        403, fmt::format("node \"{}\" is not one of job \"{}\"", report.name, job)));
  }
  take_inventory(report.name, report.inventory, job);
  if (nodes_.find(report.name) == nullptr) {
    return reply(api::error_answer(
        507, fmt::format("{} nodes are known, and no more can be; the manager forgets them when "
                         "it is started anew",
                         job::NodeTable::most_nodes)));
  }
  reply({200, json::object{{"node", report.name}}, 0});
}

json::object Manager::json_of_node(const std::string& name,
                                   const job::NodeTable::Node& node) const {
  json::object one{{"node", name}};
  for (const auto& member : api::json_of(node.inventory)) {
    one.emplace(member.key(), member.value());
  }
  one["job"] = node.job;
  one["reported_seconds"] = static_cast<double>(elapsed_ns(time(), node.reported)) / 1e9;
  return one;
}

void Manager::nodes(const api::Caller& caller, const api::NodesRequest& request, api::Reply reply) {
  const Section section(stalls_, "a view of nodes");
  if (auto refused = access_.refuse_lookers(caller)) {
    return reply(std::move(*refused));
  }
  const api::OnlyJob only = access_.seen_by(caller);
  const auto seen = [&](const std::string& name, const job::NodeTable::Node& node) {
    if (!only || node.job == *only) {
      return true;
    }
    const records::Allocation* const allocation = allocation_of(*only);
    return allocation != nullptr && records::has_node(*allocation, name);
  };
  if (request.id) {
    const job::NodeTable::Node* const node = nodes_.find(*request.id);
    return node != nullptr && seen(*request.id, *node)
               ? reply({200, json_of_node(*request.id, *node), 0})
               : reply(api::error_answer(
                     404, fmt::format("no node \"{}\" has been reported; tributary-run reports "
                                      "those of its jobs",
                                      *request.id)));
  }
  api::Budget budget(request.limit);
  api::Page page(budget);
  for (auto it = nodes_.all().upper_bound(request.after); it != nodes_.all().end(); ++it) {
    if (!seen(it->first, it->second)) {
      continue;
    }
    if (!page.has_room()) {
      break;
    }
    page.add(it->first, json_of_node(it->first, it->second),
             1 + it->second.inventory.interfaces.size());
  }
  json::object body;
  const bool more = page.has_more();
  const std::string last = page.last();
  body["nodes"] = page.take_list();
  if (more) {
    body["next"] = last;
  }
  reply({200, std::move(body), 0});
}

// ---- allocations ----

const records::Allocation* Manager::allocation_of(std::string_view job) const {
  const group::Job* const found = registry_.find_job(job);
  return found != nullptr && found->allocation ? &*found->allocation : nullptr;
}

std::vector<Manager::NodePlace> Manager::places_of(const api::AllocationRequest& request) const {
  std::vector<NodePlace> places;
  for (const api::AllocationRequest::Node& node : request.nodes) {
    NodePlace place;
    const job::Interface* const interface =
        job::fabric_interface(node.inventory.interfaces, request.interface,
                              [this](Nid nid) { return graph().find_host(nid).has_value(); });
    if (interface != nullptr) {
      place.interface = interface->name;
      place.address = interface->address;
      place.nid = job::fabric_address(interface->address)->nid;
      if (const auto host = graph().find_host(*place.nid); host && graph()[*host].plugged) {
        place.at = graph()[*host].at.at;
      }
    }
    places.push_back(std::move(place));
  }
  return places;
}

/// Without a cookie. Whoever has but a job's token names hosts as he likes: of those only what the
/// job is limited to is his.
records::Allocation Manager::allocation_of(const api::Caller& caller,
                                           const api::AllocationRequest& request,
                                           const std::vector<NodePlace>& places) const {
  const group::Job* const job = registry_.find_job(request.job);
  const auto may_set_up = [&](std::optional<Nid> nid) {
    return nid && (caller.administrator ||
                   (job != nullptr && job->hosts && std::ranges::binary_search(*job->hosts, *nid)));
  };
  records::Allocation allocation{.cookie = {},
                                 .nodes = {},
                                 .has_made_job = !request.exists,
                                 .lease_ms = 1000 * request.lease_seconds};
  for (std::size_t n = 0; n < places.size(); ++n) {
    allocation.nodes.push_back({request.nodes[n].name, places[n].nid, may_set_up(places[n].nid)});
  }
  std::ranges::sort(allocation.nodes, {}, &records::Allocation::Node::name);
  return allocation;
}

/// Of those that are set aside for jobs with an allocation, and not in use.
std::size_t Manager::trees_set_aside() const {
  std::size_t set_aside = 0;
  for (const group::Job* job : registry_.jobs()) {
    if (job->allocation) {
      set_aside +=
          job->multicast_limit - std::min<std::size_t>(job->multicast_limit, job->groups.size());
    }
  }
  return set_aside;
}

std::optional<api::Answer> Manager::make_job_of(const api::AllocationRequest& request,
                                                const std::vector<NodePlace>& places) {
  const std::uint32_t limit =
      request.multicast_limit.value_or(settings_.groups.default_multicast_limit);
  const std::size_t taken = registry_.trees_in_use() + trees_set_aside();
  if (taken + limit > max_trees) {
    return api::error_answer(
        507,
        fmt::format("02: no {} multicast groups can be set aside for job \"{}\": of {} trees "
                    "{} are in use, and {} set aside for other jobs",
                    limit, request.job, max_trees, registry_.trees_in_use(), trees_set_aside()));
  }
  group::JobBounds bounds{.hosts = std::nullopt, .vnis = std::nullopt, .give_out_vni = true};
  std::vector<Nid> hosts;
  for (const NodePlace& place : places) {
    if (place.nid) {
      hosts.push_back(*place.nid);
    }
  }
  if (hosts.size() == places.size()) {
    bounds.hosts = std::move(hosts); // with a node that is no host a job is not limited to hosts
  }
  const auto job = registry_.create_job(request.job, limit, std::move(bounds));
  if (!job) {
    return api::answer_of(job.error());
  }
  events_.announce("job",
                   fmt::format("job {} has {} nodes and may have {} groups", request.job,
                               request.nodes.size(), limit),
                   {{"job", request.job}});
  return std::nullopt;
}

void Manager::allocate(const api::Caller& caller, const api::AllocationRequest& request,
                       api::Reply reply) {
  if (store_.is_writing()) {
    return hold_back([=, this] { allocate(caller, request, reply); });
  }
  const Section section(stalls_, "an allocation");
  const std::vector<NodePlace> places = places_of(request);
  records::Allocation wanted = allocation_of(caller, request, places);
  const records::Allocation* const known = allocation_of(request.job);
  const bool is_repeated = known != nullptr && std::ranges::equal(known->nodes, wanted.nodes, {},
                                                                  &records::Allocation::Node::name,
                                                                  &records::Allocation::Node::name);
  if (request.exists) {
    if (!job_to_change(caller, request.job, reply)) {
      return;
    }
  } else {
    if (auto error = access_.refuse_others(caller, "jobs are")) {
      return reply(std::move(*error));
    }
    if (store_.refuses(reply)) {
      return;
    }
    // Who lost the answer asks again, and gets the same.
    if (auto error = is_repeated ? std::nullopt : make_job_of(request, places)) {
      return replies_.give(std::move(reply), *std::move(error), false);
    }
  }
  for (const api::AllocationRequest::Node& node : request.nodes) {
    take_inventory(node.name, node.inventory, request.job);
  }
  if (const records::Allocation* const before = allocation_of(request.job)) {
    add_what_was(wanted, *before);
  } else {
    std::array<std::byte, records::Allocation::cookie_digits / 2> bytes{};
    random_(bytes);
    for (const std::byte byte : bytes) {
      wanted.cookie += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
  }
  if (const auto job = registry_.set_allocation(request.job, std::move(wanted))) {
    begin_lease(**job);
  }
  JobPorts& ports = ports_[request.job];
  ports.patience = now() + host_patience_ns;
  ports.waiting.push_back({.reply = std::move(reply),
                           .request = std::make_shared<const api::AllocationRequest>(request),
                           .made_job = !request.exists && !is_repeated,
                           .turn = turn_});
  look_at_ports(request.job);
}

void Manager::add_route_times(json::array& values, const std::vector<NodePlace>& places) const {
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

json::object Manager::json_of_allocation(const api::AllocationRequest& request,
                                         const std::vector<NodePlace>& places,
                                         const std::string& cookie) const {
  const group::Job& job = *registry_.find_job(request.job);
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
                              rdma::text_of(rdma_.sight().document.of(*vni))));
  }
  values.push_back(value_of("TRIBUTARY_JOB_ID", "environment", "text", job.id));
  values.push_back(value_of("TRIBUTARY_FABRIC_MANAGER_TOKEN", "environment", "text", job.token));
  add_route_times(values, places);
  json::array nodes;
  json::array notes;
  const bool sets_up = settings_.job_ports != job::PortPolicy::open;
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
      if (place.nid) {
        rank["end_point"] = fmt::format("{}:{}", place.address, local);
      }
      ranks.push_back(std::move(rank));
    }
    node["ranks"] = std::move(ranks);
    json::array own;
    if (place.nid) {
      node["nid"] = place.nid->value;
      own.push_back(value_of("fm.interface", "local_resource", "text", place.interface));
      own.push_back(value_of("fm.address", "local_resource", "text", place.address));
      own.push_back(value_of("TRIBUTARY_MPI_INTERFACE", "environment", "text", place.interface));
      if (vni && sets_up && !place.at) {
        notes.push_back(json::value(
            fmt::format("{}: no switch has heard of host {} yet; its port is set up when one does",
                        request.nodes[n].name, place.nid->value)));
      }
    } else {
      notes.emplace_back(
          request.interface.empty()
              ? fmt::format("{} has no interface with a fabric address (02:00:00:0H:HH:HH); "
                            "--interface names one",
                            request.nodes[n].name)
              : fmt::format("{} has no interface {} with a MAC address that names a host",
                            request.nodes[n].name, request.interface));
    }
    node["values"] = std::move(own);
    nodes.push_back(std::move(node));
  }
  return {{"job", job.id},
          {"token", job.token},
          {"events_after", events_.last_number()},
          {"values", std::move(values)},
          {"nodes", std::move(nodes)},
          {"notes", std::move(notes)}};
}

} // namespace tributary::manager
