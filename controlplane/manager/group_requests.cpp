// api::Service: multicasts and groups.
#include "controlplane/api/slingshot.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;

namespace {

/// Most absent members in the answer to a renewal.
constexpr std::size_t max_absent_named = 8;

/// Somewhat less than the five seconds that libfabric waits for an answer.
constexpr std::uint64_t multicast_timeout_ns = 4'500'000'000;

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

} // namespace

// ---- multicasts ----

group::Error Manager::or_not_back_yet(group::Error error, std::span<const Nid> nids) {
  if (error.kind != group::ErrorKind::unreachable || !waits_for_switches()) {
    return error;
  }
  std::set<std::string> awaited;
  for (const Nid nid : nids) {
    if (topology_.is_located(nid)) {
      continue;
    }
    const auto host = graph().find_host(nid);
    if (!host || switches_.was_heard(graph()[*host].at.at)) {
      return error; // a host that has returned since the start is not waited for
    }
    awaited.insert(graph()[graph()[*host].at.at].name);
  }
  return {group::ErrorKind::conflict,
          fmt::format("the manager has just started, and switch {}, where some of these hosts "
                      "were, is not connected yet; ask again",
                      fmt::join(awaited, ", "))};
}

void Manager::create_multicast(const api::Caller& /*caller*/, const api::MulticastRequest& request,
                               api::Reply reply) {
  const auto group = registry_.create_multicast(
      {.job = request.job,
       .step = request.step,
       .members = request.macs,
       .vni = request.vni,
       .timeout_us = static_cast<std::uint64_t>(request.timeout.count())},
      now());
  if (!group) {
    return replies_.give(std::move(reply),
                         api::answer_of(or_not_back_yet(group.error(), request.macs)), false);
  }
  waiters_.wait((*group)->id,
                {std::move(reply), now() + multicast_timeout_ns, std::nullopt, turns_.number()});
  environment_.request_reconcile();
}

void Manager::delete_multicast(const api::Caller& caller, const TreeNumber& tree,
                               api::Reply reply) {
  if (!caller.administrator) {
    const auto own = access_.job_for(caller, "");
    if (!own) {
      return reply(api::answer_of(own.error()));
    }
    // The same error whether it is another job's or unused: numbers reveal nothing about others.
    const group::Group* const known = registry_.find(tree);
    if (known == nullptr || !known->multicast || known->job != *own) {
      return reply(
          api::error_answer(401, fmt::format("job \"{}\" has no multicast {}; it has ended, or "
                                             "belongs to another job, whose token is needed",
                                             *own, tree.value)));
    }
  }
  const auto group = registry_.find_multicast(tree);
  if (!group) {
    return reply(api::answer_of(group.error()));
  }
  const std::string job = (*group)->job;
  const std::string name = (*group)->name;
  const auto destroyed = registry_.destroy(job, name, now());
  replies_.give(std::move(reply),
                destroyed ? api::Answer{200, json::object{{"mcastID", tree.value}}, 0}
                          : api::answer_of(destroyed.error()),
                true);
}

// ---- groups ----

void Manager::create_group(const api::Caller& /*caller*/, const api::GroupRequest& request,
                           api::Reply reply) {
  const auto group = registry_.create_group(request, now());
  replies_.give(
      std::move(reply),
      group ? api::Answer{201, views().json_of(**group), 0} : api::answer_of(group.error()), true);
}

void Manager::join_group(const api::Caller& /*caller*/, const api::JoinRequest& request,
                         api::Reply reply) {
  const auto group = registry_.join(request, now());
  if (!group) {
    return replies_.give(std::move(reply), api::answer_of(group.error()), false);
  }
  waiters_.wait((*group)->id, {std::move(reply), now() + nanoseconds(request.wait), request.rank,
                               turns_.number()});
  environment_.request_reconcile();
}

void Manager::leave_group(const api::Caller& /*caller*/, const api::MemberRequest& request,
                          api::Reply reply) {
  const auto group = registry_.leave(request.job, request.group, request.rank, now());
  if (!group) {
    return replies_.give(std::move(reply), api::answer_of(group.error()), false);
  }
  replies_.give(
      std::move(reply),
      {200,
       // Only the number of the others: all of a large group may be leaving.
       *group != nullptr
           ? json::object{{"job", request.job},
                          {"name", request.group},
                          {"state", std::string(records::name_of((*group)->state))},
                          {"size", (*group)->size},
                          {"joined", (*group)->present}}
           : json::object{{"job", request.job}, {"name", request.group}, {"state", "gone"}},
       0},
      true);
}

void Manager::renew_lease(const api::Caller& caller, const api::MemberRequest& request,
                          api::Reply reply) {
  const std::string* const ended = groups_.end_reason(request.job, request.group);
  if (ended != nullptr && registry_.has_ended(caller.token, request.job)) {
    // Its job was deleted, and the group with it.
    return reply(api::error_answer(410, *ended));
  }
  const auto job = access_.job_to_see(caller, request.job, reply);
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
  for (const group::Absent& one : group::absent(**group, max_absent_named)) {
    absent.push_back({{"rank", one.rank},
                      {"nid", one.nid.value},
                      {"host", one.host},
                      {"why", one.why},
                      {"gone", one.gone},
                      {"left", one.left}});
  }
  const std::uint64_t lease_ns = views().lease_of(**group, request.rank);
  json::object body{{"lease_seconds", seconds_of(lease_ns)},
                    {"state", std::string(records::name_of((*group)->state))},
                    {"absent", std::move(absent)}};
  if ((*group)->routed()) {
    body["cookie"] = (*group)->cookie.value;
  }
  reply({200, std::move(body), 0});
}

void Manager::get_group(const api::Caller& /*caller*/, const api::GroupName& request,
                        api::Reply reply) {
  const group::Group* group = registry_.find(request.job, request.name);
  if (group == nullptr) {
    return reply(api::error_answer(
        404, fmt::format("job \"{}\" has no group \"{}\"", request.job, request.name)));
  }
  reply({200, views().json_of(*group), 0});
}

void Manager::delete_group(const api::Caller& /*caller*/, const api::GroupName& request,
                           api::Reply reply) {
  const auto group = registry_.destroy(request.job, request.name, now());
  if (!group) {
    return replies_.give(std::move(reply), api::answer_of(group.error()), false);
  }
  replies_.give(std::move(reply),
                {202, json::object{{"job", request.job}, {"name", request.name}}, 0}, true);
}

} // namespace tributary::manager
