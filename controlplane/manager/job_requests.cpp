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

std::optional<std::string> Manager::job_to_change(const api::Caller& caller,
                                                  const std::string& wanted,
                                                  const api::Reply& reply) const {
  auto job = access_.job_to_see(caller, wanted, reply);
  return job && !store_.refuses(reply) ? job : std::nullopt;
}

void Manager::tell_limit(const group::Job& job, json::object& answer) {
  if (job.multicast_limit == 0) {
    answer["note"] = group::no_groups(job.id);
  }
  events_.announce("job",
                   job.multicast_limit == 0
                       ? group::no_groups(job.id)
                       : fmt::format("job {} may have {} groups", job.id, job.multicast_limit),
                   {{"job", job.id}});
}

void Manager::create_job(const api::Caller& caller, const api::JobRequest& request,
                         api::Reply reply) {
  if (store_.is_writing()) {
    return hold_back([=, this] { create_job(caller, request, reply); });
  }
  if (auto error = access_.refuse_others(caller, "jobs are")) {
    return reply(std::move(*error));
  }
  if (store_.refuses(reply)) {
    return;
  }
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
  tell_limit(**job, body);
  replies_.give(std::move(reply), {201, std::move(body), 0}, true);
}

void Manager::get_job(const api::Caller& caller, const std::string& id, api::Reply reply) {
  const auto allowed = access_.job_to_see(caller, id, reply);
  if (!allowed) {
    return;
  }
  const group::Job& job = *registry_.find_job(id);
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
         json::object{{"jobID", id},
                      {"documentSelfLink", link_of(id)},
                      {"mcastLimit", job.multicast_limit},
                      {"hosts", macs_json(job.hosts)},
                      {"vnis", vnis_json(job.vnis)},
                      {"vni", vni_json(job.vni)},
                      {"sessionToken", job.token},
                      {"jobSteps", std::move(steps)}},
         0});
}

void Manager::list_jobs(const api::Caller& caller, api::Reply reply) {
  if (auto error = access_.refuse_others(caller, "the list of jobs is")) {
    return reply(std::move(*error));
  }
  json::array links;
  for (const group::Job* job : registry_.jobs()) {
    links.emplace_back(link_of(job->id));
  }
  reply({200, json::object{{"documentLinks", std::move(links)}}, 0});
}

void Manager::patch_job(const api::Caller& caller, const api::JobPatch& patch, api::Reply reply) {
  if (store_.is_writing()) {
    return hold_back([=, this] { patch_job(caller, patch, reply); });
  }
  const auto allowed = job_to_change(caller, patch.job, reply);
  if (!allowed) {
    return;
  }
  if (patch.multicast_limit) {
    if (auto error = access_.refuse_others(caller, "the limits of jobs are")) {
      return reply(std::move(*error));
    }
    if (const auto job = registry_.set_limit(*allowed, *patch.multicast_limit); !job) {
      return replies_.give(std::move(reply), api::answer_of(job.error()), false);
    }
  }
  const auto ended = registry_.end_steps(*allowed, patch.ended_steps, now());
  if (!ended) {
    return replies_.give(std::move(reply), api::answer_of(ended.error()), false);
  }
  const group::Job& job = *registry_.find_job(*allowed);
  json::object body{{"jobID", job.id}, {"ended", *ended}, {"mcastLimit", job.multicast_limit}};
  if (patch.multicast_limit) {
    tell_limit(job, body);
  }
  replies_.give(std::move(reply), {200, std::move(body), 0}, true);
}

void Manager::delete_job(const api::Caller& caller, const std::string& job, api::Reply reply) {
  if (store_.is_writing()) {
    return hold_back([=, this] { delete_job(caller, job, reply); });
  }
  if (auto error = access_.refuse_others(caller, "jobs are")) {
    return reply(std::move(*error));
  }
  if (store_.refuses(reply)) {
    return;
  }
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
  if (store_.is_writing()) {
    return hold_back([=, this] { allocate(caller, request, reply); });
  }
  const Section section(stalls_, "an allocation");
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
  }
  allocations_.begin(caller, request, std::move(reply), turn_);
}

void Manager::renew_allocation(const api::Caller& caller, const std::string& wanted,
                               api::Reply reply) {
  const auto job = access_.job_to_see(caller, wanted, reply);
  if (!job) {
    return;
  }
  const records::Allocation* const allocation = registry_.find_allocation(*job);
  if (allocation == nullptr) {
    return reply(api::error_answer(
        404, fmt::format("job \"{}\" has no allocation; it ended, or the job had none", *job)));
  }
  leases_.renew(*job);
  reply({200, json::object{{"job", *job}, {"lease_seconds", allocation->lease_ms / 1000}}, 0});
}

void Manager::report_node(const api::Caller& caller, const api::NodeReport& report,
                          api::Reply reply) {
  const Section section(stalls_, "a report of a node");
  nodes_.report(caller, report, reply);
}

void Manager::nodes(const api::Caller& caller, const api::NodesRequest& request, api::Reply reply) {
  const Section section(stalls_, "a view of nodes");
  nodes_.view(caller, request, reply);
}

// ---- events of a job ----

std::optional<api::Answer> Manager::refuse_job_events(const api::Caller& caller,
                                                      const std::string& job) {
  const auto allowed = access_.job_for(caller, job);
  return allowed ? std::nullopt : std::optional(api::answer_of(allowed.error()));
}

namespace {

/// A launcher that reads its job's events, which shows that it is alive.
class Holder final : public api::EventReader {
public:
  Holder(std::unique_ptr<api::EventReader> reader, std::function<void()> let_go)
      : reader_(std::move(reader)), let_go_(std::move(let_go)) {}
  ~Holder() override { let_go_(); }
  std::optional<api::ShownEvent> next() override { return reader_->next(); }
  [[nodiscard]] bool has_missed() const override { return reader_->has_missed(); }
  [[nodiscard]] std::uint64_t seen() const override { return reader_->seen(); }

private:
  std::unique_ptr<api::EventReader> reader_;
  std::function<void()> let_go_;
};

} // namespace

std::unique_ptr<api::EventReader> Manager::read_events(const api::Caller& caller,
                                                       const api::EventsRequest& request,
                                                       std::function<void()> wake) {
  using Of = api::EventInterest::Of;
  if (!request.job) {
    const auto only = access_.seen_by(caller);
    return events_.read({.what = only ? Of::nobody_else : Of::everything, .job = only.value_or("")},
                        request.after, std::move(wake));
  }
  const auto allowed = access_.job_for(caller, request.job->job);
  const std::string job = allowed ? *allowed : std::string();
  auto reader =
      events_.read({Of::job, job, request.job->environment}, request.after, std::move(wake));
  return std::make_unique<Holder>(std::move(reader), leases_.hold(caller, job, [] {}));
}

} // namespace tributary::manager
