// What hosts, workload managers and people ask for: rest::Service.
#include "controlplane/manager/manager.hpp"

#include "controlplane/rest/slingshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;

namespace {

/// Somewhat less than the five seconds that libfabric waits for an answer.
constexpr std::uint64_t multicast_patience_ns = 4'500'000'000;
constexpr unsigned retry_soon_seconds = 1;

rest::Answer answer_of(const group::Refusal& refusal) {
  rest::Answer answer = rest::refusal(refusal.status, refusal.message);
  if ((refusal.status == 409 && !refusal.contradicts) || refusal.status == 503) {
    answer.retry_after = retry_soon_seconds;
  }
  return answer;
}

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

std::string link_of(const std::string& job) { return "/fabric/collectives/jobs/" + job; }

} // namespace

// ---- who may ----

group::Result<std::string> Manager::job_for(const rest::Caller& caller,
                                            const std::string& wanted) const {
  if (!caller.token.empty() && !caller.administrator) {
    const auto own = registry_.job_of_token(caller.token);
    if (!own) {
      return own.refusal();
    }
    if (!wanted.empty() && wanted != (*own)->id) {
      return group::Refusal{403, fmt::format("the token is job \"{}\"'s; it opens nothing of job "
                                             "\"{}\"",
                                             (*own)->id, wanted)};
    }
    return (*own)->id;
  }
  if (caller.administrator && !wanted.empty()) {
    if (registry_.find_job(wanted) == nullptr) {
      return group::Refusal{404, fmt::format("there is no job \"{}\"; POST it to "
                                             "/fabric/collectives/jobs first",
                                             wanted)};
    }
    return wanted;
  }
  if (!settings_.open_job.empty() && (wanted.empty() || wanted == settings_.open_job)) {
    return settings_.open_job;
  }
  if (caller.administrator) {
    return group::Refusal{400, "an administrator must say which \"job\" is meant"};
  }
  return group::Refusal{401, "this needs the token of a job: Authorization: Bearer TOKEN"};
}

std::optional<std::string> Manager::job_to_see(const rest::Caller& caller,
                                               const std::string& wanted,
                                               const rest::Reply& reply) const {
  auto job = job_for(caller, wanted);
  if (!job) {
    reply(answer_of(job.refusal()));
    return std::nullopt;
  }
  return *job;
}

std::optional<std::string> Manager::job_to_change(const rest::Caller& caller,
                                                  const std::string& wanted,
                                                  const rest::Reply& reply) const {
  auto job = job_to_see(caller, wanted, reply);
  return job && !refused(reply) ? job : std::nullopt;
}

rest::Answer Manager::store_refusal() const {
  rest::Answer answer = rest::refusal(
      503, fmt::format("nothing can be changed now: {}; what runs goes on", store_trouble_));
  answer.retry_after = retry_soon_seconds;
  return answer;
}

bool Manager::refused(const rest::Reply& reply) const {
  if (store_trouble_.empty()) {
    return false;
  }
  reply(store_refusal());
  return true;
}

void Manager::answer(rest::Reply reply, rest::Answer answer, bool changes) {
  answers_.push_back({std::move(reply), std::move(answer), changes});
  surroundings_.request_settle();
}

// ---- those who wait ----

std::optional<rest::Answer> Manager::final_answer(const group::Group& group,
                                                  const Waiter& waiter) const {
  using State = group::GroupState;
  switch (group.state) {
  case State::ready:
  case State::receiving_leave_req:
    if (waiter.rank) {
      return rest::Answer{200, membership(group, *waiter.rank), 0};
    }
    return rest::Answer{
        201,
        json::object{{"mcastID", group.routes.front().number.value},
                     {"hwRoot", rest::hardware_root_text(group.members.at(*group.root).nid)}},
        0};
  case State::destroying:
  case State::gone:
    // It has ended for those who were in it; asking again would make another one.
    return rest::refusal(group.ending.status, group.ending.message);
  case State::receiving_join_req:
  case State::computing_routes: break;
  }
  return std::nullopt;
}

void Manager::wake_waiters(const group::Group& group) {
  const auto [first, last] = waiters_.equal_range(group.id);
  for (auto it = first; it != last;) {
    if (auto final = final_answer(group, it->second)) {
      answer(std::move(it->second.reply), std::move(*final), true);
      it = waiters_.erase(it);
    } else {
      ++it;
    }
  }
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
      answer(std::move(waiter.reply), rest::refusal(404, "the group is gone"), false);
    } else if (waiter.rank) {
      answer(std::move(waiter.reply), {202, json_of(*group), 0}, true);
    } else {
      answer(std::move(waiter.reply),
             answer_of({409, fmt::format("the multicast is being built: {}; ask again",
                                         describe(*group, at))}),
             false);
    }
  }
}

// ---- jobs ----

void Manager::create_job(const rest::Caller& caller, const rest::JobRequest& request,
                         rest::Reply reply) {
  if (!caller.administrator) {
    return reply(rest::refusal(403, "jobs are the administrator's"));
  }
  if (refused(reply)) {
    return;
  }
  const auto job = registry_.create_job(request.job, request.multicast_limit);
  if (!job) {
    return answer(std::move(reply), answer_of(job.refusal()), false);
  }
  event("job", fmt::format("job {} may have {} groups", request.job, (*job)->multicast_limit),
        {{"job", request.job}});
  answer(std::move(reply),
         {201,
          json::object{{"jobID", request.job},
                       {"sessionToken", (*job)->token},
                       {"documentSelfLink", link_of(request.job)},
                       {"mcastLimit", (*job)->multicast_limit}},
          0},
         true);
}

void Manager::get_job(const rest::Caller& caller, const std::string& id, rest::Reply reply) {
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
    for (const group::GroupTree& tree : group->routes) {
      step.at("mcasts").as_array().push_back(tree.number.value);
    }
  }
  reply({200,
         json::object{{"jobID", id},
                      {"documentSelfLink", link_of(id)},
                      {"mcastLimit", job.multicast_limit},
                      {"sessionToken", job.token},
                      {"jobSteps", std::move(steps)}},
         0});
}

void Manager::list_jobs(const rest::Caller& caller, rest::Reply reply) {
  if (!caller.administrator) {
    return reply(rest::refusal(403, "the list of jobs is the administrator's"));
  }
  json::array links;
  for (const group::Job* job : registry_.jobs()) {
    links.emplace_back(link_of(job->id));
  }
  reply({200, json::object{{"documentLinks", std::move(links)}}, 0});
}

void Manager::patch_job(const rest::Caller& caller, const rest::JobPatch& patch,
                        rest::Reply reply) {
  const auto allowed = job_to_change(caller, patch.job, reply);
  if (!allowed) {
    return;
  }
  const auto ended = registry_.end_steps(patch.job, patch.ended_steps, now());
  answer(std::move(reply),
         ended ? rest::Answer{200, json::object{{"jobID", patch.job}, {"ended", *ended}}, 0}
               : answer_of(ended.refusal()),
         true);
}

void Manager::delete_job(const rest::Caller& caller, const std::string& job, rest::Reply reply) {
  if (!caller.administrator) {
    return reply(rest::refusal(403, "jobs are the administrator's"));
  }
  if (refused(reply)) {
    return;
  }
  const auto ended = registry_.delete_job(job, now());
  if (ended) {
    event("job", fmt::format("job {} is deleted, with {} groups", job, *ended), {{"job", job}});
  }
  answer(std::move(reply),
         ended ? rest::Answer{200, json::object{{"jobID", job}, {"ended", *ended}}, 0}
               : answer_of(ended.refusal()),
         true);
}

// ---- multicasts ----

void Manager::create_multicast(const rest::Caller& caller, const rest::MulticastRequest& request,
                               rest::Reply reply) {
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
    return answer(std::move(reply), answer_of(group.refusal()), false);
  }
  waiters_.emplace((*group)->id,
                   Waiter{std::move(reply), now() + multicast_patience_ns, std::nullopt});
  wake_waiters(**group);
  surroundings_.request_settle();
}

void Manager::delete_multicast(const rest::Caller& caller, TreeNumber tree, rest::Reply reply) {
  if (refused(reply)) {
    return;
  }
  const auto group = registry_.find_multicast(tree);
  if (!group) {
    return reply(answer_of(group.refusal()));
  }
  const auto allowed = job_to_see(caller, (*group)->job, reply);
  if (!allowed) {
    return;
  }
  const std::string job = (*group)->job;
  const std::string name = (*group)->name;
  const auto destroyed = registry_.destroy(job, name, now());
  answer(std::move(reply),
         destroyed ? rest::Answer{200, json::object{{"mcastID", tree.value}}, 0}
                   : answer_of(destroyed.refusal()),
         true);
}

// ---- groups ----

void Manager::create_group(const rest::Caller& caller, const rest::GroupRequest& request,
                           rest::Reply reply) {
  const auto job = job_to_change(caller, request.job, reply);
  if (!job) {
    return;
  }
  const auto group = registry_.create_group(
      {*job, request.name, request.size, request.trees, request.root_rank}, now());
  answer(std::move(reply),
         group ? rest::Answer{201, json_of(**group), 0} : answer_of(group.refusal()), true);
}

void Manager::join_group(const rest::Caller& caller, const rest::JoinRequest& request,
                         rest::Reply reply) {
  const auto job = job_to_change(caller, request.group.job, reply);
  if (!job) {
    return;
  }
  const rest::GroupRequest& wish = request.group;
  const auto group =
      registry_.join({.group = {*job, wish.name, wish.size, wish.trees, wish.root_rank},
                      .rank = request.rank,
                      .nid = request.nid,
                      .host = request.host},
                     now());
  if (!group) {
    return answer(std::move(reply), answer_of(group.refusal()), false);
  }
  waiters_.emplace((*group)->id,
                   Waiter{std::move(reply), now() + nanoseconds(request.wait), request.rank});
  wake_waiters(**group);
  surroundings_.request_settle();
}

void Manager::leave_group(const rest::Caller& caller, const rest::MemberRequest& request,
                          rest::Reply reply) {
  const auto job = job_to_change(caller, request.job, reply);
  if (!job) {
    return;
  }
  const auto group = registry_.leave(*job, request.group, request.rank, now());
  if (!group) {
    return answer(std::move(reply), answer_of(group.refusal()), false);
  }
  answer(std::move(reply),
         {200,
          *group != nullptr ? json::value(json_of(**group))
                            : json::value(json::object{
                                  {"job", *job}, {"name", request.group}, {"state", "gone"}}),
          0},
         true);
}

void Manager::renew_lease(const rest::Caller& caller, const rest::MemberRequest& request,
                          rest::Reply reply) {
  const auto job = job_to_see(caller, request.job, reply);
  if (!job) {
    return;
  }
  const auto group = registry_.renew(*job, request.group, request.rank, now());
  surroundings_.request_settle();
  if (!group) {
    return reply(answer_of(group.refusal()));
  }
  reply({200, json::object{{"lease_seconds", static_cast<double>(settings_.groups.lease_ns) / 1e9}},
         0});
}

void Manager::get_group(const rest::Caller& caller, const std::string& wanted,
                        const std::string& name, rest::Reply reply) {
  const auto job = job_to_see(caller, wanted, reply);
  if (!job) {
    return;
  }
  const group::Group* group = registry_.find(*job, name);
  if (group == nullptr) {
    return reply(rest::refusal(404, fmt::format("job \"{}\" has no group \"{}\"", *job, name)));
  }
  reply({200, json_of(*group), 0});
}

void Manager::delete_group(const rest::Caller& caller, const std::string& wanted,
                           const std::string& name, rest::Reply reply) {
  const auto job = job_to_change(caller, wanted, reply);
  if (!job) {
    return;
  }
  const auto group = registry_.destroy(*job, name, now());
  if (!group) {
    return answer(std::move(reply), answer_of(group.refusal()), false);
  }
  answer(std::move(reply), {202, json::object{{"job", *job}, {"name", name}}, 0}, true);
}

std::string Manager::not_ready_because() {
  if (!store_trouble_.empty()) {
    return store_trouble_;
  }
  if (waits_for_switches()) {
    return "the switches known before the start are not all connected yet";
  }
  if (sessions_.empty()) {
    return "no switch is connected; look at [manager] address in the switches' configuration";
  }
  return {};
}

std::function<void()> Manager::subscribe(std::uint64_t after,
                                         std::function<void(const rest::Event&)> sink) {
  return events_.follow(after, std::move(sink));
}

} // namespace tributary::manager
