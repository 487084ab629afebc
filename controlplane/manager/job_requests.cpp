// api::Service: jobs, their allocations and nodes, and their events.
#include "controlplane/api/slingshot.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/api/target.hpp"
#include "controlplane/group/quota.hpp"
#include "controlplane/manager/manager.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;

namespace {

/// Null: any.
json::value macs_json(const std::optional<std::vector<Nid>>& hosts) {
  if (!hosts) {
    return nullptr;
  }
  json::array list;
  for (const Nid nid : *hosts) {
    list.emplace_back(api::hardware_root_text(nid));
  }
  return list;
}

json::value vnis_json(const std::optional<std::vector<Vni>>& vnis) {
  if (!vnis) {
    return nullptr;
  }
  json::array list;
  for (const Vni vni : *vnis) {
    list.emplace_back(vni.value);
  }
  return list;
}

json::value vni_json(std::optional<Vni> vni) {
  return vni ? json::value(vni->value) : json::value(nullptr);
}

std::string link_of(const std::string& job) {
  return "/fabric/collectives/jobs/" + api::segment_of(job);
}

} // namespace

void Manager::announce_limit(const group::Job& job, json::object& answer) {
  if (job.multicast_limit == 0) {
    answer["note"] = group::no_groups(job.id);
  }
  events_.announce("job",
                   job.multicast_limit == 0
                       ? group::no_groups(job.id)
                       : fmt::format("job {} may have {} groups", job.id, job.multicast_limit),
                   {{"job", job.id}});
}

void Manager::create_job(const api::Caller& /*caller*/, const api::JobRequest& request,
                         api::Reply reply) {
  const auto job = registry_.create_job(request.job, request.multicast_limit,
                                        {request.hosts, request.vnis, request.assign_vni}, now());
  if (!job) {
    return replies_.give(std::move(reply), api::answer_of(job.error()), false);
  }
  json::object body{{"jobID", request.job},
                    {"sessionToken", (*job)->token},
                    {"documentSelfLink", link_of(request.job)},
                    {"mcastLimit", (*job)->multicast_limit},
                    {"vni", vni_json((*job)->vni)}};
  announce_limit(**job, body);
  replies_.give(std::move(reply), {201, std::move(body), 0}, true);
}

void Manager::get_job(const api::Caller& /*caller*/, const api::JobName& request,
                      api::Reply reply) {
  const group::Job& job = *registry_.find_job(request.job);
  json::object steps;
  for (const auto& [name, group_id] : job.groups) {
    const group::Group* group = registry_.find(group_id);
    json::value& step = steps[group->step];
    if (step.is_null()) {
      step = json::object{{"mcasts", json::array{}}};
    }
    for (const records::TreeRecord& tree : group->routes) {
      step.at("mcasts").as_array().push_back(tree.number.value);
    }
  }
  reply({200,
         json::object{{"jobID", request.job},
                      {"documentSelfLink", link_of(request.job)},
                      {"mcastLimit", job.multicast_limit},
                      {"hosts", macs_json(job.hosts)},
                      {"vnis", vnis_json(job.vnis)},
                      {"vni", vni_json(job.vni)},
                      {"sessionToken", job.token},
                      {"jobSteps", std::move(steps)}},
         0});
}

void Manager::list_jobs(const api::Caller& /*caller*/, const api::Nothing& /*request*/,
                        api::Reply reply) {
  json::array links;
  for (const group::Job* job : registry_.jobs()) {
    links.emplace_back(link_of(job->id));
  }
  reply({200, json::object{{"documentLinks", std::move(links)}}, 0});
}

void Manager::patch_job(const api::Caller& caller, const api::JobPatch& patch, api::Reply reply) {
  if (patch.multicast_limit) {
    if (auto error = access_.refuse_others(caller, "the limits of jobs are")) {
      return reply(std::move(*error));
    }
    if (const auto job = registry_.set_limit(patch.job, *patch.multicast_limit); !job) {
      return replies_.give(std::move(reply), api::answer_of(job.error()), false);
    }
  }
  const auto ended = registry_.end_steps(patch.job, patch.ended_steps, now());
  if (!ended) {
    return replies_.give(std::move(reply), api::answer_of(ended.error()), false);
  }
  const group::Job& job = *registry_.find_job(patch.job);
  json::object body{{"jobID", job.id}, {"ended", *ended}, {"mcastLimit", job.multicast_limit}};
  if (patch.multicast_limit) {
    announce_limit(job, body);
  }
  replies_.give(std::move(reply), {200, std::move(body), 0}, true);
}

void Manager::delete_job(const api::Caller& /*caller*/, const api::JobName& request,
                         api::Reply reply) {
  const std::string& job = request.job;
  const auto ended = registry_.delete_job(job, now());
  if (ended) {
    ports_.look_at(job);
    events_.announce("job",
                     fmt::format("job {} is deleted, with {}", job, counted(*ended, "group")),
                     {{"job", job}});
  }
  replies_.give(std::move(reply),
                ended ? api::Answer{200, json::object{{"jobID", job}, {"ended", *ended}}, 0}
                      : api::answer_of(ended.error()),
                true);
}

// ---- allocations ----

void Manager::allocate(const api::Caller& caller, const api::AllocationRequest& request,
                       api::Reply reply) {
  if (request.exists && caller.is_node()) {
    if (auto error = access_.refuse_nodes(caller, request)) {
      return reply(std::move(*error));
    }
  } else if (request.exists) {
    if (!access_.job_to_see(caller, request.job, reply)) {
      return;
    }
  } else if (auto error = access_.refuse_others(caller, "jobs are")) {
    return reply(std::move(*error));
  }
  allocations_.begin(caller, request, std::move(reply), turns_.number());
}

void Manager::renew_allocation(const api::Caller& /*caller*/, const api::JobName& request,
                               api::Reply reply) {
  const records::Allocation* const allocation = registry_.find_allocation(request.job);
  if (allocation == nullptr) {
    return reply(api::error_answer(
        404,
        fmt::format("job \"{}\" has no allocation; it ended, or the job had none", request.job)));
  }
  leases_.renew(request.job);
  reply(
      {200, json::object{{"job", request.job}, {"lease_seconds", allocation->lease_ms / 1000}}, 0});
}

void Manager::report_node(const api::Caller& caller, const api::NodeReport& report,
                          api::Reply reply) {
  nodes_.report(caller, report, reply);
}

void Manager::nodes(const api::Caller& caller, const api::NodesRequest& request, api::Reply reply) {
  nodes_.view(caller, request, reply);
}

// ---- events of a job ----

std::optional<api::Answer> Manager::refuse_job_events(const api::Caller& caller,
                                                      const std::string& job) {
  const auto allowed = access_.job_for(caller, job);
  return allowed ? std::nullopt : std::optional(api::answer_of(allowed.error()));
}

std::unique_ptr<api::EventReader> Manager::read_events(const api::Caller& caller,
                                                       const api::EventsRequest& request,
                                                       std::function<void()> wake) {
  using Of = api::EventInterest::Of;
  if (!request.job) {
    const auto only = access_.seen_by(caller);
    return events_.read({.what = only ? Of::own_job : Of::everything, .job = only.value_or("")},
                        request.after, std::move(wake));
  }
  const auto allowed = access_.job_for(caller, request.job->job);
  const std::string job = allowed ? *allowed : std::string();
  return events_.read({Of::job, job, request.job->environment}, request.after, std::move(wake));
}

} // namespace tributary::manager
