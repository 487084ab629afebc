#include "controlplane/fabric_controller/touched_jobs.hpp"

#include "controlplane/trees/tree_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric_controller {

namespace {

/// With more switches of changed routes than this, every job is notified: the search for unaffected
/// jobs would take longer than a turn may.
constexpr std::size_t most_switches_looked_at = 64;

bool uses(const group::Job& job, Vni vni) {
  return job.vni == vni || (job.vnis && std::ranges::find(*job.vnis, vni) != job.vnis->end());
}

/// A switch or a link that is down needs repair; a host matters only when it is in use.
turns::Severity severity_of(const topology::Change& change) {
  using Kind = topology::Change::Kind;
  switch (change.kind) {
  case Kind::switch_down:
  case Kind::link_down: return turns::Severity::error;
  case Kind::host_down:
    return change.host_state == topology::HostState::missing ? turns::Severity::error
           : change.host_state == topology::HostState::down  ? turns::Severity::warning
                                                             : turns::Severity::info;
  default: return turns::Severity::info;
  }
}

} // namespace

turns::JobNames TouchedJobs::of_hosts(const std::set<Nid>& hosts, std::optional<Vni> vni) const {
  turns::JobNames jobs;
  for (const Nid host : hosts) {
    for (const group::Group* const group : rooms_.registry.groups_of(host)) {
      if (!vni || group->vni == *vni) {
        jobs.insert(group->job);
      }
    }
  }
  for (const group::Job* const job : rooms_.registry.jobs()) {
    if (!job->hosts || (vni && !uses(*job, *vni))) {
      continue;
    }
    if (std::ranges::any_of(
            hosts, [job](Nid host) { return std::ranges::binary_search(*job->hosts, host); })) {
      jobs.insert(job->id);
    }
  }
  return jobs;
}

turns::JobNames TouchedJobs::over(const std::set<topology::LinkId>& links) const {
  turns::JobNames jobs;
  if (links.empty()) {
    return jobs;
  }
  for (const group::Group* const group : rooms_.registry.groups()) {
    const trees::GroupTrees* const life = rooms_.states.find(group->id);
    if (life != nullptr && !jobs.contains(group->job) &&
        std::ranges::any_of(life->trees, [&links](const trees::PlannedTree& planned) {
          return std::ranges::any_of(planned.tree.links,
                                     [&](topology::LinkId link) { return links.contains(link); });
        })) {
      jobs.insert(group->job);
    }
  }
  return jobs;
}

turns::JobNames TouchedJobs::at(const std::vector<std::string>& switches) const {
  if (switches.size() > most_switches_looked_at) {
    turns::JobNames all;
    for (const group::Job* const job : rooms_.registry.jobs()) {
      all.insert(job->id);
    }
    return all;
  }
  std::set<Nid> hosts;
  turns::JobNames jobs;
  for (const std::string& name : switches) {
    const auto at = graph().find_switch(name);
    if (!at) {
      continue;
    }
    for (topology::Port port = 0; port < graph()[*at].ports; ++port) {
      if (const auto host = graph().host_at({*at, port})) {
        hosts.insert(graph()[*host].nid);
      }
    }
    for (const auto& [subject, content] : rooms_.coordinator.wanted_at(*at)) {
      const auto tree = trees::tree_of(subject);
      if (const group::Group* const group = tree ? rooms_.registry.find(*tree) : nullptr) {
        jobs.insert(group->job);
      }
    }
  }
  jobs.merge(of_hosts(hosts));
  return jobs;
}

turns::JobNames TouchedJobs::by(const turns::EventSubject& about) const {
  if (about.peer && !about.peer->job.empty()) {
    return {about.peer->job}; // reports of one job's hosts are hidden from other jobs
  }
  if (about.peer) {
    return of_hosts({about.peer->nid}, about.peer->vni);
  }
  return about.switches.empty() ? turns::JobNames() : at(about.switches);
}

/// The jobs that used a link that is down have to be found before trees are led around it.
void TouchedJobs::note_down(const std::vector<topology::Change>& changes) {
  std::set<topology::LinkId> down;
  for (const topology::Change& change : changes) {
    if (change.kind == topology::Change::Kind::link_down) {
      down.insert(change.link);
    }
  }
  constexpr std::size_t most_looked_at_one_by_one = 8;
  if (down.size() > most_looked_at_one_by_one) {
    // A switch, or half of the fabric: a job that uses one of the links is notified of all of them.
    const turns::JobNames jobs = over(down);
    for (const topology::LinkId link : down) {
      by_link_[link] = jobs;
    }
    return;
  }
  for (const topology::LinkId link : down) {
    by_link_[link] = over({link});
  }
}

void TouchedJobs::report_change(topology::Change& change, std::string kind) {
  using Kind = topology::Change::Kind;
  boost::json::object body{{"change", std::string(topology::name_of(change.kind))}};
  std::string_view code;
  turns::JobNames jobs;
  switch (change.kind) {
  case Kind::link_down:
  case Kind::link_up:
    code = change.kind == Kind::link_down ? "link_down" : "link_up";
    body["link"] = change.link.value;
    if (const auto touched = by_link_.find(change.link); touched != by_link_.end()) {
      jobs = touched->second;
      if (change.kind == Kind::link_up) {
        by_link_.erase(touched); // jobs that were notified of the failure are notified of the
                                 // recovery
      }
    }
    break;
  case Kind::host_down:
  case Kind::host_up:
    code = change.kind == Kind::host_down ? "link_down" : "link_up";
    body["nid"] = change.nid.value;
    body["host"] = change.host;
    jobs = of_hosts({change.nid});
    break;
  default: break;
  }
  const turns::Severity severity = severity_of(change);
  if (code.empty()) {
    return rooms_.events.report(std::move(kind), std::move(change.text), std::move(body), severity);
  }
  rooms_.events.report_to_jobs(std::move(kind), std::move(change.text), std::move(body), code, jobs,
                               severity);
}

void TouchedJobs::reported(topology::SwitchId at, const control::PortStatistics& port) {
  const topology::Attachment where{at, static_cast<topology::Port>(port.port())};
  const auto change = congestion_.reported(where, port);
  if (!change || where.port >= graph()[at].ports) {
    return;
  }
  turns::JobNames jobs;
  if (const auto link = graph().link_at(where)) {
    jobs = over({*link});
  } else if (const auto host = graph().host_at(where)) {
    jobs = of_hosts({graph()[*host].nid});
  }
  const std::string place = graph().describe(where);
  rooms_.events.report_to_jobs(
      "link",
      change->begins
          ? fmt::format("{} is congested: {} frames found a full queue", place, change->drops)
          : fmt::format("{} is no longer congested, after {} frames that found a full queue", place,
                        change->drops),
      {{"switch", graph()[at].name}, {"port", where.port}, {"drops", change->drops}},
      change->begins ? "congestion" : "congestion_over", jobs,
      change->begins ? turns::Severity::warning : turns::Severity::info);
}

void TouchedJobs::report(std::string kind, std::string text, const turns::EventSubject& about) {
  if (about.code.empty()) {
    return rooms_.events.report(std::move(kind), std::move(text), {}, about.severity);
  }
  boost::json::object body;
  if (!about.switches.empty() && about.switches.size() <= most_switches_looked_at) {
    body["switches"] = boost::json::array(about.switches.begin(), about.switches.end());
  }
  if (about.peer) {
    body["nid"] = about.peer->nid.value;
    body["vni"] = about.peer->vni.value;
  }
  rooms_.events.report_to_jobs(std::move(kind), std::move(text), std::move(body), about.code,
                               by(about), about.severity);
}

} // namespace tributary::fabric_controller
