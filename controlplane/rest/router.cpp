#include "controlplane/rest/router.hpp"

#include <utility>

namespace tributary::rest {

namespace {

/// Whether the segments match the pattern; fills `parameters` with the segments for its braces.
bool matches(std::string_view pattern, const std::vector<std::string>& segments,
             std::vector<std::string>& parameters) {
  parameters.clear();
  for (const std::string& segment : segments) {
    if (pattern.empty()) {
      return false;
    }
    pattern.remove_prefix(1); // its slash
    const std::string_view expected = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(expected.size());
    if (expected.starts_with('{')) {
      parameters.push_back(segment);
    } else if (expected != segment) {
      return false;
    }
  }
  return pattern.empty() || pattern == "/";
}

} // namespace

Match find_route(std::span<const api::Route> routes, std::string_view method,
                 const api::Target& target) {
  Match match;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::vector<std::string> parameters;
  for (const api::Route& route : routes) {
    if (!matches(route.path, target.segments, parameters)) {
      continue;
    }
    if (route.method == wanted && match.route == nullptr) {
      match.route = &route;
      match.parameters = parameters;
    }
    match.allowed += match.allowed.empty() ? "" : ", ";
    match.allowed += route.method;
    match.allowed += route.method == "GET" ? ", HEAD" : "";
  }
  return match;
}

} // namespace tributary::rest
