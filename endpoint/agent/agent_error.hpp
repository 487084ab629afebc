// Why the host agent refuses a request. The message says what happened, to what, and what to do; it
// goes to the program that asked, and to its user.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary::host_agent {

enum class Reason : std::uint8_t {
  bad_request,   ///< not a request, or a value out of range
  not_permitted, ///< the caller may not do this
  no_job,        ///< no job of this user is on the node, or not the named one
  several_jobs,  ///< several fit; the request must name one
  taken,         ///< the job's name or its VNI is another user's
  limit,         ///< too many sockets or jobs
  unavailable,   ///< the interface or the guard is not in order; the same request may succeed later
};
inline constexpr std::size_t reason_count = 7;

/// As answers and counters carry it.
constexpr std::string_view name_of(Reason reason) {
  constexpr std::array<std::string_view, reason_count> names = {
      "bad_request", "not_permitted", "no_job", "several_jobs", "taken", "limit", "unavailable"};
  return names[static_cast<std::size_t>(reason)];
}

class AgentError : public std::runtime_error {
public:
  AgentError(Reason reason, const std::string& message)
      : std::runtime_error(message), reason_(reason) {}
  [[nodiscard]] Reason reason() const { return reason_; }

private:
  Reason reason_;
};

} // namespace tributary::host_agent
