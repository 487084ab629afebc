// Access control: administrators, jobs by their tokens, compute nodes by their certificates, and
// callers without either.
//
// A check returns what the caller may access (a job's name, say) or the answer that refuses it: 401
// for a wrong token, 403 for a caller without permission. Every request is checked first, before
// anything is done.
//
// Reads the registry's jobs and tokens. Pure.
#pragma once

#include "controlplane/api/route.hpp"
#include "controlplane/api/service.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/api/views.hpp"
#include "controlplane/group/registry.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tributary::job_controller {

class Access {
public:
  /// `open_job` and `open_view`: as in manager::Settings.
  Access(const group::Registry& registry, std::string open_job, bool open_view)
      : registry_(registry), open_job_(std::move(open_job)), open_view_(open_view) {}

  // ---- jobs ----

  [[nodiscard]] group::Result<std::string> job_for(const api::Caller& caller,
                                                   const std::string& wanted) const;
  /// The job of a request; nothing if the caller is refused, and then it is answered already.
  [[nodiscard]] std::optional<std::string>
  job_to_see(const api::Caller& caller, const std::string& wanted, const api::Reply& reply) const;
  /// The job of a caller that is not an administrator; "" where `refuse_strangers` refuses.
  [[nodiscard]] api::OnlyJob only_job_of(const api::Caller& caller) const;
  /// What the caller may see. One that `refuse_lookers` refuses sees only what belongs to no job.
  [[nodiscard]] api::OnlyJob seen_by(const api::Caller& caller) const;

  // ---- refusals; nothing: the caller is allowed ----

  /// Refuses callers that may not send such requests, as far as that is known without the request.
  /// Callers without any right may not send bodies.
  [[nodiscard]] std::optional<api::Answer> refuse(const api::Route& route,
                                                  const api::Caller& caller) const;
  /// Refuses callers that may not send this one; fills in the job of a request that names none.
  template <typename Request>
  [[nodiscard]] std::optional<api::Answer> admit(const api::Route& route, const api::Caller& caller,
                                                 Request& request) const {
    if constexpr (requires { job_of(request); }) {
      if (route.who.is == api::Who::Is::job) {
        auto job = job_for(caller, job_of(request));
        if (!job) {
          return api::answer_of(job.error());
        }
        job_of(request) = *std::move(job);
        return std::nullopt;
      }
    }
    return refuse(route, caller);
  }

  /// Refuses what the certificate of a compute node does not allow: it may speak for that node, in
  /// jobs whose allocation has it. Requires `caller.is_node()`.
  [[nodiscard]] std::optional<api::Answer>
  refuse_nodes(const api::Caller& caller, const api::AllocationRequest& request) const;
  /// Refuses callers that are not administrators; `what` begins the sentence: "jobs are".
  [[nodiscard]] std::optional<api::Answer> refuse_others(const api::Caller& caller,
                                                         std::string_view what) const;
  /// Refuses callers that are neither administrators nor of a job.
  [[nodiscard]] std::optional<api::Answer> refuse_strangers(const api::Caller& caller) const;
  /// Refuses callers that may not look. Others may look at all except other jobs' objects.
  [[nodiscard]] std::optional<api::Answer> refuse_lookers(const api::Caller& caller) const;
  /// Whether the caller has no token, and the open view lets it look at everything.
  [[nodiscard]] bool looks_openly(const api::Caller& caller) const;

private:
  template <typename Request> static auto job_of(Request& request) -> decltype((request.job)) {
    return request.job;
  }
  static std::string& job_of(api::JoinRequest& request) { return request.group.job; }

  const group::Registry& registry_;
  std::string open_job_;
  bool open_view_;
};

} // namespace tributary::job_controller
