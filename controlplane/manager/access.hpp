// Who may ask for what: administrators, jobs by their tokens, and callers without one.
//
// A question is answered with what the caller may (a job's name, say) or with the answer that
// refuses it: 401 to a wrong token, 403 to whoever may not. Asked at the beginning of every
// request, before anything is done.
//
// Looks at the registry's jobs and tokens. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/api/views.hpp"
#include "controlplane/group/registry.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tributary::manager {

class Access {
public:
  /// `open_job` and `open_view` as manager::Settings has them.
  Access(const group::Registry& registry, std::string open_job, bool open_view)
      : registry_(registry), open_job_(std::move(open_job)), open_view_(open_view) {}

  // ---- jobs ----

  [[nodiscard]] group::Result<std::string> job_for(const api::Caller& caller,
                                                   const std::string& wanted) const;
  /// The job that a request is about; or it is answered already: the caller may not.
  [[nodiscard]] std::optional<std::string>
  job_to_see(const api::Caller& caller, const std::string& wanted, const api::Reply& reply) const;
  /// The job of whoever is no administrator; "" where `refuse_strangers` refuses.
  [[nodiscard]] api::OnlyJob only_job_of(const api::Caller& caller) const;
  /// What the caller may see of. One that `refuse_lookers` refuses sees what is of no job.
  [[nodiscard]] api::OnlyJob seen_by(const api::Caller& caller) const;

  // ---- refusals; nothing: the caller may ----

  /// Whoever is no administrator; `what` begins the sentence: "jobs are".
  [[nodiscard]] std::optional<api::Answer> refuse_others(const api::Caller& caller,
                                                         std::string_view what) const;
  /// Whoever is neither an administrator nor of a job.
  [[nodiscard]] std::optional<api::Answer> refuse_strangers(const api::Caller& caller) const;
  /// Whoever may look at one thing may look at all, but for what is another job's.
  [[nodiscard]] std::optional<api::Answer> refuse_lookers(const api::Caller& caller) const;
  /// Whether it is one of those without a token, who may look at everything here.
  [[nodiscard]] bool looks_openly(const api::Caller& caller) const;

private:
  const group::Registry& registry_;
  std::string open_job_;
  bool open_view_;
};

} // namespace tributary::manager
