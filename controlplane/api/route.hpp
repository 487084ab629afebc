// A kind of request, as the HTTP server and the manager's access control know it. The table of all
// is request_table.hpp.
#pragma once

#include "controlplane/api/target.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::api {

/// The sender of a request.
struct Caller {
  std::string token{};        ///< from the Authorization header, "" without one
  bool administrator = false; ///< the admin token, or the Unix socket's owner or root
  /// Names in the certificate of a compute node; empty without one, and with a token.
  std::vector<std::string> nodes{};

  /// A caller that may speak for compute nodes, and for nothing else.
  [[nodiscard]] bool is_node() const { return !administrator && token.empty() && !nodes.empty(); }
};

/// A request whose route is known, and whose body has arrived.
struct Call {
  Caller caller;
  Target target;
  std::vector<std::string> parameters; ///< of the path, in order
  std::string body;
};

/// Who may send a request.
struct Who {
  enum class Is : std::uint8_t {
    anyone,        ///< or the handler decides
    known,         ///< an administrator, or the program of a job
    viewer,        ///< the same, and callers without a token where the open view allows it
    job,           ///< a program of the job that the request names, or an administrator
    administrator, ///< only
    administrator_or_open_view,
  };
  Is is = Is::anyone;
  /// For administrators: begins the sentence of a refusal, as in "jobs are".
  std::string_view what{};
};

struct Route {
  /// What answers: the service, or the server itself.
  enum class Kind : std::uint8_t {
    service,
    health,
    readiness,
    leadership,
    metrics,
    openapi,
    events,
    page,
  };

  std::string_view method; ///< "GET"
  std::string_view path;   ///< "/api/v1/groups/{job}/{name}"
  /// Callers that may not send it are refused before a body is received, as far as the token shows.
  bool has_body = false;
  Who who{};
  bool changes = false; ///< it needs a store that takes changes
  Kind kind = Kind::service;
  /// Callers rely on its answer about jobs, groups or allocations: where other managers may take
  /// the lead, only one that leads gives it. Other answers may be old.
  bool decides = changes;
};

/// Agrees that this manager leads a fabric, although it met a newer one.
inline constexpr std::string_view adoptions_path = "/api/v1/adoptions";

/// Whether only the manager that leads may answer: requests for changes. Views may be old.
[[nodiscard]] constexpr bool needs_leader(const Route& route) {
  return route.method != "GET" && route.path != adoptions_path;
}

} // namespace tributary::api
