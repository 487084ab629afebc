// The routes by path and method: one table, which openapi.json repeats for machines (a test
// compares both). Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/api/target.hpp"

#include <boost/beast/http/verb.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::rest {

namespace http = boost::beast::http;

/// A request whose route is known, and whose body has arrived.
struct Call {
  api::Caller caller;
  api::Target target;
  std::vector<std::string> parameters; ///< of the path, in order
  std::string body;
};

struct Route {
  /// What answers: the service through `ask`, or the server itself.
  enum class Kind : std::uint8_t { service, health, readiness, metrics, openapi, events, page };

  /// Whether the request has a body, and who may send it: others are refused before it is received.
  enum class Body : std::uint8_t { none, of_known_caller, of_administrator };

  http::verb method;
  std::string_view path; ///< "/api/v1/groups/{job}/{name}"
  Kind kind;
  Body body;
  /// Checks the call and passes it to the service. Throws RequestError. nullptr for other kinds.
  void (*ask)(api::Service& service, const Call& call, api::Reply reply);
};

[[nodiscard]] std::span<const Route> routes();

struct Match {
  const Route* route = nullptr; ///< nullptr: see `allowed`
  std::vector<std::string> parameters;
  std::string allowed; ///< the methods of the path, for an Allow header; "": unknown path
};
/// HEAD uses the route of GET.
[[nodiscard]] Match find_route(http::verb method, const api::Target& target);

} // namespace tributary::rest
