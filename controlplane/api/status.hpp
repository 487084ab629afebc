// HTTP status of the errors of all rooms: docs/protocol/manager-api.md. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/error.hpp"

namespace tributary::api {

inline constexpr unsigned retry_soon_seconds = 1;

[[nodiscard]] constexpr unsigned status_of(group::ErrorKind kind) {
  using group::ErrorKind;
  switch (kind) {
  case ErrorKind::invalid: return 400;
  case ErrorKind::unknown_token: return 401;
  case ErrorKind::forbidden: return 403;
  case ErrorKind::not_found: return 404;
  case ErrorKind::conflict: return 409;
  case ErrorKind::unreachable: return 422;
  case ErrorKind::unavailable: return 503;
  case ErrorKind::exhausted: return 507;
  }
  return 500;
}

/// 421: another manager leads. `leader` is the address of its HTTP API; "": unknown.
[[nodiscard]] inline Answer misdirected_answer(const std::string& message,
                                               const std::string& leader) {
  Answer answer = error_answer(421, message);
  if (!leader.empty()) {
    answer.body.as_object()["leader"] = leader;
  }
  return answer;
}

/// With a Retry-After header where a retry may soon succeed.
[[nodiscard]] inline Answer answer_of(const group::Error& error) {
  Answer answer = error_answer(status_of(error.kind), error.message);
  if ((error.kind == group::ErrorKind::conflict && !error.contradicts) ||
      error.kind == group::ErrorKind::unavailable) {
    answer.retry_after = retry_soon_seconds;
  }
  return answer;
}

} // namespace tributary::api
