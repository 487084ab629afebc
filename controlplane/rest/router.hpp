// Finds the route of a request by path and method. Pure.
#pragma once

#include "controlplane/api/route.hpp"
#include "controlplane/api/target.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::rest {

struct Match {
  const api::Route* route = nullptr; ///< nullptr: see `allowed`
  std::vector<std::string> parameters;
  std::string allowed; ///< the methods of the path, for an Allow header; "": unknown path
};
/// HEAD uses the route of GET.
[[nodiscard]] Match find_route(std::span<const api::Route> routes, std::string_view method,
                               const api::Target& target);

} // namespace tributary::rest
