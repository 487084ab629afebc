// Fabrics and plans of them, for tests of this room.
#pragma once

#include "controlplane/route_controller/path.hpp"
#include "controlplane/route_controller/plan.hpp"
#include "controlplane/topology/builders.hpp"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::route_controller::test {

inline topology::Graph fabric(std::string_view model) { return topology::build_model(model).graph; }

inline Plan planned(topology::Graph graph, Settings settings = {},
                    std::vector<HeldRoutes> held = {}, Epoch epoch = 11,
                    std::set<topology::SwitchId> without_channel = {},
                    std::string held_algorithm = {}) {
  settings.enabled = true;
  Request request{.fabric = std::move(graph), .settings = std::move(settings), .epoch = epoch};
  request.held = std::move(held);
  request.without_channel = std::move(without_channel);
  request.held_algorithm = std::move(held_algorithm);
  return make_plan(request, [] { return TimeNs{42}; });
}

/// As if every switch had the plan's routes.
inline std::vector<HeldRoutes> held_by_all(const Plan& plan) {
  std::vector<HeldRoutes> held;
  for (std::uint32_t s = 0; s < plan.contents.size(); ++s) {
    if (const auto& content = plan.contents[s]) {
      held.push_back(
          {topology::SwitchId{s}, content->epoch(), content->digest(), content->shared()});
    }
  }
  return held;
}

inline HeldTables tables_of(const Plan& plan) {
  HeldTables tables;
  for (const auto& content : plan.contents) {
    tables.push_back(content ? HeldTable{content->epoch(), content->shared()} : HeldTable{});
  }
  return tables;
}

} // namespace tributary::route_controller::test
