#include "controlplane/job_controller/access.hpp"

#include "controlplane/api/status.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::job_controller {

group::Result<std::string> Access::job_for(const api::Caller& caller,
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
      return group::Error{
          group::ErrorKind::not_found,
          fmt::format("no job \"{0}\"; create it with \"tributaryctl fabric job create "
                      "{0}\"",
                      wanted)};
    }
    return wanted;
  }
  if (!open_job_.empty() && (wanted.empty() || wanted == open_job_)) {
    if (registry_.find_job(open_job_) == nullptr) {
      return group::Error{group::ErrorKind::not_found,
                          fmt::format("job \"{}\", which those without a token belong to, "
                                      "was deleted; an administrator may POST it again to "
                                      "/fabric/collectives/jobs",
                                      open_job_)};
    }
    return open_job_;
  }
  if (caller.administrator) {
    return group::Error{group::ErrorKind::invalid, "an administrator must name the \"job\""};
  }
  return group::Error{group::ErrorKind::unknown_token,
                      "this needs the token of a job: Authorization: Bearer TOKEN"};
}

std::optional<api::Answer> Access::refuse(const api::Route& route,
                                          const api::Caller& caller) const {
  using Is = api::Who::Is;
  switch (route.who.is) {
  case Is::anyone:
    // Of a node the handler decides.
    return route.has_body && !caller.is_node() ? refuse_strangers(caller) : std::nullopt;
  case Is::known:
  case Is::job: return refuse_strangers(caller);
  case Is::viewer: return refuse_lookers(caller);
  case Is::administrator: return refuse_others(caller, route.who.what);
  case Is::administrator_or_open_view:
    return looks_openly(caller) ? std::nullopt : refuse_others(caller, route.who.what);
  }
  return std::nullopt;
}

std::optional<api::Answer> Access::refuse_others(const api::Caller& caller,
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

std::optional<std::string> Access::job_to_see(const api::Caller& caller, const std::string& wanted,
                                              const api::Reply& reply) const {
  auto job = job_for(caller, wanted);
  if (!job) {
    reply(api::answer_of(job.error()));
    return std::nullopt;
  }
  return *job;
}

std::optional<api::Answer> Access::refuse_nodes(const api::Caller& caller,
                                                const api::AllocationRequest& request) const {
  const auto is_certified = [&](const api::AllocationRequest::Node& node) {
    return std::ranges::find(caller.nodes, node.name) != caller.nodes.end();
  };
  for (const api::AllocationRequest::Node& node : request.nodes) {
    if (!is_certified(node)) {
      return api::error_answer(403,
                               fmt::format("the certificate is of node {}; it cannot speak for "
                                           "node \"{}\"",
                                           fmt::join(caller.nodes, ", "), node.name));
    }
  }
  const records::Allocation* const allocation = registry_.find_allocation(request.job);
  for (const api::AllocationRequest::Node& node : request.nodes) {
    if (allocation == nullptr || !records::has_node(*allocation, node.name)) {
      // The same for a job that does not exist: a node hears of its own alone.
      return api::error_answer(404, fmt::format("no job \"{}\" has node \"{}\"; an administrator "
                                                "gives it that node with POST /api/v1/allocations",
                                                request.job, node.name));
    }
  }
  return std::nullopt;
}

api::OnlyJob Access::only_job_of(const api::Caller& caller) const {
  if (caller.administrator) {
    return std::nullopt;
  }
  const auto job = job_for(caller, "");
  return job ? *job : "";
}

api::OnlyJob Access::seen_by(const api::Caller& caller) const {
  return looks_openly(caller) ? std::nullopt : only_job_of(caller);
}

bool Access::looks_openly(const api::Caller& caller) const {
  return open_view_ && caller.token.empty();
}

std::optional<api::Answer> Access::refuse_strangers(const api::Caller& caller) const {
  if (caller.administrator) {
    return std::nullopt;
  }
  if (caller.token.empty()) {
    if (!open_job_.empty()) {
      return std::nullopt;
    }
    return api::error_answer(401, "this needs a token: Authorization: Bearer TOKEN");
  }
  if (const auto job = registry_.job_of_token(caller.token); !job) {
    return api::answer_of(job.error());
  }
  return std::nullopt;
}

std::optional<api::Answer> Access::refuse_lookers(const api::Caller& caller) const {
  return looks_openly(caller) ? std::nullopt : refuse_strangers(caller);
}

} // namespace tributary::job_controller
