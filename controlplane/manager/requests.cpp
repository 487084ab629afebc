// What hosts, workload managers and people ask for: api::Service.
#include "controlplane/manager/manager.hpp"

#include "controlplane/api/slingshot.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/api/target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;

namespace {

/// How many a renewal names.
constexpr std::size_t absent_told = 8;

/// Somewhat less than the five seconds that libfabric waits for an answer.
constexpr std::uint64_t multicast_timeout_ns = 4'500'000'000;

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

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

// ---- who may ----

group::Result<std::string> Manager::job_for(const api::Caller& caller,
                                            const std::string& wanted) const {
  if (!caller.token.empty() && !caller.administrator) {
    const auto own = registry_.job_of_token(caller.token);
    if (!own) {
      return own.error();
    }
    if (!wanted.empty() && wanted != (*own)->id) {
      return group::Error{group::ErrorKind::forbidden,
                          fmt::format("the token is job \"{}\"'s; it opens nothing of job "
                                      "\"{}\"",
                                      (*own)->id, wanted)};
    }
    return (*own)->id;
  }
  if (caller.administrator && !wanted.empty()) {
    if (registry_.find_job(wanted) == nullptr) {
      return group::Error{group::ErrorKind::not_found,
                          fmt::format("there is no job \"{}\"; POST it to "
                                      "/fabric/collectives/jobs first",
                                      wanted)};
    }
    return wanted;
  }
  if (!settings_.open_job.empty() && (wanted.empty() || wanted == settings_.open_job)) {
    if (registry_.find_job(settings_.open_job) == nullptr) {
      return group::Error{group::ErrorKind::not_found,
                          fmt::format("job \"{}\", which those without a token belong to, "
                                      "was deleted; an administrator may POST it again to "
                                      "/fabric/collectives/jobs",
                                      settings_.open_job)};
    }
    return settings_.open_job;
  }
  if (caller.administrator) {
    return group::Error{group::ErrorKind::invalid,
                        "an administrator must say which \"job\" is meant"};
  }
  return group::Error{group::ErrorKind::unknown_token,
                      "this needs the token of a job: Authorization: Bearer TOKEN"};
}

std::optional<api::Answer> Manager::refuse_others(const api::Caller& caller,
                                                  std::string_view what) const {
  if (caller.administrator) {
    return std::nullopt;
  }
  if (!caller.token.empty()) {
    const auto job = registry_.job_of_token(caller.token);
    return job ? api::error_answer(403, fmt::format("{} the administrator's, and the token is job "
                                                    "\"{}\"'s; come without it, or with the "
                                                    "administrator's",
                                                    what, (*job)->id))
               : api::answer_of(job.error());
  }
  return api::error_answer(403, fmt::format("{} the administrator's", what));
}

std::optional<std::string> Manager::job_to_see(const api::Caller& caller, const std::string& wanted,
                                               const api::Reply& reply) const {
  auto job = job_for(caller, wanted);
  if (!job) {
    reply(api::answer_of(job.error()));
    return std::nullopt;
  }
  return *job;
}

std::optional<std::string> Manager::job_to_change(const api::Caller& caller,
                                                  const std::string& wanted,
                                                  const api::Reply& reply) const {
  auto job = job_to_see(caller, wanted, reply);
  return job && !refused(reply) ? job : std::nullopt;
}

api::Answer Manager::store_error_answer() const {
  api::Answer answer = api::error_answer(
      503, fmt::format("nothing can be changed now: {}; what runs goes on", store_failure_));
  answer.retry_after = api::retry_soon_seconds;
  return answer;
}

bool Manager::refused(const api::Reply& reply) const {
  if (store_failure_.empty()) {
    return false;
  }
  reply(store_error_answer());
  return true;
}

void Manager::answer(api::Reply reply, api::Answer answer, bool changes) {
  answers_.push_back({std::move(reply), std::move(answer), changes});
  environment_.request_reconcile();
}

// ---- those who wait ----

std::optional<api::Answer> Manager::final_answer(const group::Group& group,
                                                 const Waiter& waiter) const {
  using State = group::GroupState;
  switch (group.state) {
  case State::ready:
  case State::receiving_leave_req:
    if (waiter.rank) {
      return api::Answer{200, views().membership(group, *waiter.rank), 0};
    }
    return api::Answer{
        201,
        json::object{{"mcastID", group.routes.front().number.value},
                     {"hwRoot", api::hardware_root_text(group.members.at(*group.root).nid)}},
        0};
  case State::destroying:
  case State::gone:
    // It has ended for those who were in it; asking again would make another one.
    return api::error_answer(api::status_of(group.end_reason.kind), group.end_reason.message);
  case State::receiving_join_req:
  case State::computing_routes: break;
  }
  return std::nullopt;
}

void Manager::wake_waiters(const group::Group& group) {
  const auto [first, last] = waiters_.equal_range(group.id);
  for (auto it = first; it != last;) {
    if (auto final = final_answer(group, it->second)) {
      if (final->status == 201) {
        registry_.told(group.id);
      }
      answer(std::move(it->second.reply), std::move(*final), true);
      it = waiters_.erase(it);
    } else {
      ++it;
    }
  }
}

void Manager::wake_due() {
  if (!store_failure_.empty()) {
    return; // later: nobody hears of what a crash could lose
  }
  for (const group::GroupId id : std::exchange(to_wake_, {})) {
    if (const group::Group* group = registry_.find(id)) {
      wake_waiters(*group);
    }
  }
}

void Manager::announce(std::string kind, std::string text, json::object body) {
  announcements_.push_back({std::move(kind), std::move(text), std::move(body)});
}

void Manager::time_out_waiters(TimeNs at) {
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    if (it->second.until > at) {
      ++it;
      continue;
    }
    const group::Group* group = registry_.find(it->first);
    Waiter waiter = std::move(it->second);
    it = waiters_.erase(it);
    if (group == nullptr) {
      answer(std::move(waiter.reply), api::error_answer(404, "the group is gone"), false);
    } else if (waiter.rank) {
      answer(std::move(waiter.reply), {202, views().summary_of(*group), 0}, true);
    } else {
      answer(std::move(waiter.reply),
             api::answer_of({group::ErrorKind::conflict,
                             fmt::format("the multicast is being built: {}; ask again",
                                         describe(*group, at))}),
             false);
    }
  }
}

// ---- jobs ----

void Manager::create_job(const api::Caller& caller, const api::JobRequest& request,
                         api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { create_job(caller, request, reply); });
  }
  if (auto error = refuse_others(caller, "jobs are")) {
    return reply(std::move(*error));
  }
  if (refused(reply)) {
    return;
  }
  const auto job = registry_.create_job(request.job, request.multicast_limit,
                                        {request.hosts, request.vnis, request.assign_vni});
  if (!job) {
    return answer(std::move(reply), api::answer_of(job.error()), false);
  }
  announce("job", fmt::format("job {} may have {} groups", request.job, (*job)->multicast_limit),
           {{"job", request.job}});
  answer(std::move(reply),
         {201,
          json::object{{"jobID", request.job},
                       {"sessionToken", (*job)->token},
                       {"documentSelfLink", link_of(request.job)},
                       {"mcastLimit", (*job)->multicast_limit},
                       {"vni", vni_json((*job)->vni)}},
          0},
         true);
}

void Manager::get_job(const api::Caller& caller, const std::string& id, api::Reply reply) {
  const auto allowed = job_to_see(caller, id, reply);
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
  if (auto error = refuse_others(caller, "the list of jobs is")) {
    return reply(std::move(*error));
  }
  json::array links;
  for (const group::Job* job : registry_.jobs()) {
    links.emplace_back(link_of(job->id));
  }
  reply({200, json::object{{"documentLinks", std::move(links)}}, 0});
}

void Manager::patch_job(const api::Caller& caller, const api::JobPatch& patch, api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { patch_job(caller, patch, reply); });
  }
  const auto allowed = job_to_change(caller, patch.job, reply);
  if (!allowed) {
    return;
  }
  if (patch.multicast_limit) {
    if (auto error = refuse_others(caller, "the limits of jobs are")) {
      return reply(std::move(*error));
    }
    if (const auto job = registry_.set_limit(*allowed, *patch.multicast_limit); !job) {
      return answer(std::move(reply), api::answer_of(job.error()), false);
    }
    announce("job", fmt::format("job {} may have {} groups", *allowed, *patch.multicast_limit),
             {{"job", *allowed}});
  }
  const auto ended = registry_.end_steps(*allowed, patch.ended_steps, now());
  if (!ended) {
    return answer(std::move(reply), api::answer_of(ended.error()), false);
  }
  answer(std::move(reply),
         {200,
          json::object{{"jobID", *allowed},
                       {"ended", *ended},
                       {"mcastLimit", registry_.find_job(*allowed)->multicast_limit}},
          0},
         true);
}

void Manager::delete_job(const api::Caller& caller, const std::string& job, api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { delete_job(caller, job, reply); });
  }
  if (auto error = refuse_others(caller, "jobs are")) {
    return reply(std::move(*error));
  }
  if (refused(reply)) {
    return;
  }
  const auto ended = registry_.delete_job(job, now());
  if (ended) {
    look_at_ports(job);
    announce("job", fmt::format("job {} is deleted, with {} groups", job, *ended), {{"job", job}});
  }
  answer(std::move(reply),
         ended ? api::Answer{200, json::object{{"jobID", job}, {"ended", *ended}}, 0}
               : api::answer_of(ended.error()),
         true);
}

// ---- multicasts ----

group::Error Manager::or_not_back_yet(group::Error error, std::span<const Nid> nids) {
  if (error.kind != group::ErrorKind::unreachable || !waits_for_switches()) {
    return error;
  }
  std::set<std::string> awaited;
  for (const Nid nid : nids) {
    if (located_.contains(nid.value)) {
      continue;
    }
    const auto host = graph().find_host(nid);
    if (!host || discovery_.is_connected(graph()[*host].at.at)) {
      return error;
    }
    awaited.insert(graph()[graph()[*host].at.at].name);
  }
  return {group::ErrorKind::conflict,
          fmt::format("the manager has just started, and switch {} is not back yet, where "
                      "hosts of these were; ask again",
                      fmt::join(awaited, ", "))};
}

void Manager::create_multicast(const api::Caller& caller, const api::MulticastRequest& request,
                               api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { create_multicast(caller, request, reply); });
  }
  const auto job = job_to_change(caller, request.job, reply);
  if (!job) {
    return;
  }
  const auto group = registry_.create_multicast(
      {.job = *job,
       .step = request.step,
       .members = request.macs,
       .vni = request.vni,
       .timeout_us = static_cast<std::uint64_t>(request.timeout.count())},
      now());
  if (!group) {
    return answer(std::move(reply), api::answer_of(or_not_back_yet(group.error(), request.macs)),
                  false);
  }
  waiters_.emplace((*group)->id,
                   Waiter{std::move(reply), now() + multicast_timeout_ns, std::nullopt, turn_});
  to_wake_.insert((*group)->id);
  environment_.request_reconcile();
}

void Manager::delete_multicast(const api::Caller& caller, TreeNumber tree, api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { delete_multicast(caller, tree, reply); });
  }
  if (!caller.administrator) {
    const auto own = job_for(caller, "");
    if (!own) {
      return reply(api::answer_of(own.error()));
    }
    // The same whether it is another job's or nobody's: numbers tell nothing about others.
    const group::Group* const known = registry_.find(tree);
    if (known == nullptr || !known->multicast || known->job != *own) {
      return reply(
          api::error_answer(401, fmt::format("job \"{}\" has no multicast {}; it is gone, or "
                                             "another job's, whose token would be needed",
                                             *own, tree.value)));
    }
  }
  if (refused(reply)) {
    return;
  }
  const auto group = registry_.find_multicast(tree);
  if (!group) {
    return reply(api::answer_of(group.error()));
  }
  const std::string job = (*group)->job;
  const std::string name = (*group)->name;
  const auto destroyed = registry_.destroy(job, name, now());
  answer(std::move(reply),
         destroyed ? api::Answer{200, json::object{{"mcastID", tree.value}}, 0}
                   : api::answer_of(destroyed.error()),
         true);
}

// ---- groups ----

void Manager::create_group(const api::Caller& caller, const api::GroupRequest& request,
                           api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { create_group(caller, request, reply); });
  }
  const auto job = job_to_change(caller, request.job, reply);
  if (!job) {
    return;
  }
  api::GroupRequest of_job = request;
  of_job.job = *job;
  const auto group = registry_.create_group(of_job, now());
  answer(std::move(reply),
         group ? api::Answer{201, views().json_of(**group), 0} : api::answer_of(group.error()),
         true);
}

void Manager::join_group(const api::Caller& caller, const api::JoinRequest& request,
                         api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { join_group(caller, request, reply); });
  }
  const auto job = job_to_change(caller, request.group.job, reply);
  if (!job) {
    return;
  }
  api::JoinRequest of_job = request;
  of_job.group.job = *job;
  const auto group = registry_.join(of_job, now());
  if (!group) {
    return answer(std::move(reply), api::answer_of(group.error()), false);
  }
  waiters_.emplace((*group)->id, Waiter{std::move(reply), now() + nanoseconds(request.wait),
                                        request.rank, turn_});
  to_wake_.insert((*group)->id);
  environment_.request_reconcile();
}

void Manager::leave_group(const api::Caller& caller, const api::MemberRequest& request,
                          api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { leave_group(caller, request, reply); });
  }
  const auto job = job_to_change(caller, request.job, reply);
  if (!job) {
    return;
  }
  const auto group = registry_.leave(*job, request.group, request.rank, now());
  if (!group) {
    return answer(std::move(reply), api::answer_of(group.error()), false);
  }
  answer(std::move(reply),
         {200,
          // No more of the others than their number: all of a large group may be leaving.
          *group != nullptr
              ? json::object{{"job", *job},
                             {"name", request.group},
                             {"state", std::string(records::name_of((*group)->state))},
                             {"size", (*group)->size},
                             {"joined", (*group)->present}}
              : json::object{{"job", *job}, {"name", request.group}, {"state", "gone"}},
          0},
         true);
}

void Manager::renew_lease(const api::Caller& caller, const api::MemberRequest& request,
                          api::Reply reply) {
  const std::string* const ended = endings_.of(request.job, request.group);
  if (ended != nullptr && registry_.has_ended(caller.token, request.job)) {
    // Its job was deleted, and the group with it.
    return reply(api::error_answer(410, *ended));
  }
  const auto job = job_to_see(caller, request.job, reply);
  if (!job) {
    return;
  }
  const auto group = registry_.renew(*job, request.group, request.rank, now());
  environment_.request_reconcile();
  if (!group) {
    const group::Group* const there = registry_.find(*job, request.group);
    if (group.error().kind == group::ErrorKind::not_found && ended != nullptr) {
      return reply(api::error_answer(410, *ended));
    }
    if (there != nullptr && there->state == group::GroupState::destroying) {
      return reply(
          api::error_answer(api::status_of(group.error().kind), there->end_reason.message));
    }
    api::Answer refused = api::answer_of(group.error());
    if (refused.status == 409) {
      refused.body.as_object()["lease_ended"] = true;
    }
    return reply(std::move(refused));
  }
  json::array absent;
  for (const group::Absent& one : group::absent(**group, absent_told)) {
    absent.push_back({{"rank", one.rank},
                      {"nid", one.nid.value},
                      {"host", one.host},
                      {"why", one.why},
                      {"gone", one.gone},
                      {"left", one.left}});
  }
  const std::uint64_t lease_ns = views().lease_of(**group, request.rank);
  json::object body{{"lease_seconds", static_cast<double>(lease_ns) / 1e9},
                    {"state", std::string(records::name_of((*group)->state))},
                    {"absent", std::move(absent)}};
  if ((*group)->routed()) {
    body["cookie"] = (*group)->cookie.value;
  }
  reply({200, std::move(body), 0});
}

void Manager::get_group(const api::Caller& caller, const std::string& wanted,
                        const std::string& name, api::Reply reply) {
  const auto job = job_to_see(caller, wanted, reply);
  if (!job) {
    return;
  }
  const group::Group* group = registry_.find(*job, name);
  if (group == nullptr) {
    return reply(api::error_answer(404, fmt::format("job \"{}\" has no group \"{}\"", *job, name)));
  }
  reply({200, views().json_of(*group), 0});
}

void Manager::delete_group(const api::Caller& caller, const std::string& wanted,
                           const std::string& name, api::Reply reply) {
  if (is_writing()) {
    return hold_back([=, this] { delete_group(caller, wanted, name, reply); });
  }
  const auto job = job_to_change(caller, wanted, reply);
  if (!job) {
    return;
  }
  const auto group = registry_.destroy(*job, name, now());
  if (!group) {
    return answer(std::move(reply), api::answer_of(group.error()), false);
  }
  answer(std::move(reply), {202, json::object{{"job", *job}, {"name", name}}, 0}, true);
}

std::string Manager::not_ready_because() {
  if (!store_failure_.empty()) {
    return store_failure_;
  }
  if (waits_for_switches()) {
    return "the switches known before the start are not all connected yet";
  }
  if (sessions_.empty()) {
    return "no switch is connected; look at [manager] address in the switches' configuration";
  }
  return {};
}

api::OnlyJob Manager::only_job_of(const api::Caller& caller) const {
  if (caller.administrator) {
    return std::nullopt;
  }
  const auto job = job_for(caller, "");
  return job ? *job : "";
}

api::OnlyJob Manager::seen_by(const api::Caller& caller) const {
  return looks_openly(caller) ? std::nullopt : only_job_of(caller);
}

std::function<void()> Manager::subscribe(const api::Caller& caller, std::uint64_t after,
                                         std::function<void(const api::Event&)> sink) {
  const auto only = seen_by(caller);
  if (!only) {
    return events_.follow(after, std::move(sink));
  }
  return events_.follow(after, [job = *only, sink = std::move(sink)](const api::Event& event) {
    const json::value* const owner = event.body.if_contains("job");
    const bool seen = owner == nullptr ? event.kind != "transaction" : *owner == json::value(job);
    if (seen) {
      sink(event);
    }
  });
}

std::optional<api::Answer> Manager::refuse_job_events(const api::Caller& caller,
                                                      const std::string& job) {
  const auto allowed = job_for(caller, job);
  return allowed ? std::nullopt : std::optional(api::answer_of(allowed.error()));
}

std::function<void()> Manager::follow_job(const api::Caller& caller, const api::JobEvents& wanted,
                                          std::function<void(const api::Event&)> sink) {
  const auto allowed = job_for(caller, wanted.job);
  const std::string job = allowed ? *allowed : std::string();
  auto unsubscribe =
      events_.follow(wanted.after, [job, environment = wanted.environment,
                                    sink = std::move(sink)](const api::Event& event) {
        const bool is_gap = event.kind == "gap";
        const bool touched = is_gap || std::ranges::find(event.jobs, job) != event.jobs.end();
        if (!touched && (event.code.empty() ||
                         std::ranges::find(environment, event.code) == environment.end())) {
          return;
        }
        api::Event told{event.number, event.kind, event.body, event.code, {}};
        if (is_gap) {
          told.body["code"] = "events_lost";
        }
        told.body["scope"] = touched ? "job" : "environment";
        told.body["epoch"] = event.number >> 32U;
        told.body["sequence"] = event.number & 0xFFFF'FFFFU;
        sink(told);
      });
  return hold_lease(caller, job, std::move(unsubscribe));
}

} // namespace tributary::manager
