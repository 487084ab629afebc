// Which path and method mean what: one table, which openapi.json repeats for machines (a test
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

/// A request whose route is known, and whose body has come.
struct Call {
  api::Caller caller;
  api::Target target;
  std::vector<std::string> parameters; ///< of the path, in its order
  std::string body;
};

struct Route {
  /// Who answers: the service by way of `ask`, or the server itself.
  enum class Kind : std::uint8_t { service, health, readiness, metrics, openapi, events, page };

  /// Whether there is one, and who may send it: others are told that they may not before it is
  /// received.
  enum class Body : std::uint8_t { none, of_known_caller, of_administrator };

  http::verb method;
  std::string_view path; ///< "/api/v1/groups/{job}/{name}"
  Kind kind;
  Body body;
  /// Checks the call and hands it to the service. Throws RequestError. nullptr for other kinds.
  void (*ask)(api::Service& service, const Call& call, api::Reply reply);
};

[[nodiscard]] std::span<const Route> routes();

struct Match {
  const Route* route = nullptr; ///< nullptr: see `allowed`
  std::vector<std::string> parameters;
  std::string allowed; ///< the methods that the path has, for an Allow header; "": no such path
};
/// HEAD finds the route of GET.
[[nodiscard]] Match find_route(http::verb method, const api::Target& target);

} // namespace tributary::rest
