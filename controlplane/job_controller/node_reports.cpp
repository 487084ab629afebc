#include "controlplane/job_controller/node_reports.hpp"

#include "controlplane/api/job_requests.hpp"
#include "controlplane/api/page.hpp"
#include "controlplane/api/status.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace tributary::job_controller {

namespace json = boost::json;

void NodeReports::take(const std::string& node, job::NodeInventory inventory,
                       const std::string& job) {
  const std::vector<Nid> hosts = job::hosts_of(inventory);
  const auto different = nodes_.report(node, std::move(inventory), job, rooms_.clock.now());
  if (!different || different->empty()) {
    return; // no room for more nodes, the first report, or an unchanged one
  }
  turns::JobNames jobs = rooms_.touched.of_hosts({hosts.begin(), hosts.end()});
  for (const group::Job* each : rooms_.registry.jobs()) {
    if (each->allocation && records::has_node(*each->allocation, node)) {
      jobs.insert(each->id);
    }
  }
  rooms_.events.report_to_jobs("node", fmt::format("node {}: {}", node, *different),
                               {{"node", node}}, "node_changed", std::move(jobs));
}

void NodeReports::report(const api::Caller& caller, const api::NodeReport& report,
                         const api::Reply& reply) {
  std::string job;
  if (!caller.administrator || !report.job.empty()) {
    const auto allowed = rooms_.access.job_to_see(caller, report.job, reply);
    if (!allowed) {
      return;
    }
    job = *allowed;
  }
  const records::Allocation* const allocation = rooms_.registry.find_allocation(job);
  const job::NodeTable::Node* const known = nodes_.find(report.name);
  const bool is_its_own = allocation != nullptr ? records::has_node(*allocation, report.name)
                                                : known == nullptr || known->job == job;
  if (!caller.administrator && !is_its_own) {
    return reply(api::error_answer(
        403, fmt::format("node \"{}\" is not one of job \"{}\"", report.name, job)));
  }
  take(report.name, report.inventory, job);
  if (nodes_.find(report.name) == nullptr) {
    return reply(api::error_answer(
        507,
        fmt::format("{} nodes are known, which is the limit; a restart of the manager clears them",
                    job::NodeTable::most_nodes)));
  }
  reply({200, json::object{{"node", report.name}}, 0});
}

json::object NodeReports::json_of(const std::string& name, const job::NodeTable::Node& node) const {
  json::object one{{"node", name}};
  for (const auto& member : api::json_of(node.inventory)) {
    one.emplace(member.key(), member.value());
  }
  one["job"] = node.job;
  one["reported_seconds"] = seconds_of(elapsed_ns(rooms_.clock.time(), node.reported));
  return one;
}

void NodeReports::view(const api::Caller& caller, const api::NodesRequest& request,
                       const api::Reply& reply) const {
  const api::OnlyJob only = rooms_.access.seen_by(caller);
  const auto seen = [&](const std::string& name, const job::NodeTable::Node& node) {
    if (!only || node.job == *only) {
      return true;
    }
    const records::Allocation* const allocation = rooms_.registry.find_allocation(*only);
    return allocation != nullptr && records::has_node(*allocation, name);
  };
  if (request.id) {
    const job::NodeTable::Node* const node = nodes_.find(*request.id);
    return node != nullptr && seen(*request.id, *node)
               ? reply({200, json_of(*request.id, *node), 0})
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
    page.add(it->first, json_of(it->first, it->second), 1 + it->second.inventory.interfaces.size());
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

} // namespace tributary::job_controller
