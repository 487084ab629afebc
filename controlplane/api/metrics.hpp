// What Prometheus reads: OpenMetrics text, without the closing "# EOF". Pure.
#pragma once

#include "controlplane/api/views.hpp"

#include <cstdint>
#include <string>

namespace tributary::api {

/// What the manager counts itself.
struct ManagerFigures {
  std::uint64_t tree_repairs = 0;
  std::uint64_t turns = 0;
  std::uint64_t turns_stalled = 0;
  std::uint64_t longest_turn_ns = 0;
  std::uint64_t longest_turn_processor_ns = 0;
  std::uint64_t computations = 0;
  std::uint64_t computations_under_way = 0;
  bool store_is_failing = false;
  bool switches_are_turned_away = false;
};

[[nodiscard]] std::string metrics(const Sight& sight, const ManagerFigures& figures);

} // namespace tributary::api
