// Metrics for Prometheus: OpenMetrics text, without the closing "# EOF". Pure.
//
// A fabric of thousands of switches has megabytes of it. It is produced in parts, and the manager
// does other work between them; a sample is as of when it was written.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/api/views.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tributary::api {

struct RdmaSight;

/// Counters of the manager itself.
struct ManagerFigures {
  std::uint64_t tree_repairs = 0;
  std::uint64_t route_failures = 0;
  std::uint64_t route_pairs_lost = 0;
  std::uint64_t turns = 0;
  std::uint64_t turns_stalled = 0;
  std::uint64_t longest_turn_ns = 0;
  std::uint64_t longest_turn_processor_ns = 0;
  std::uint64_t computations = 0;
  std::uint64_t computations_under_way = 0;
  std::uint64_t computations_failed = 0;
  bool store_is_failing = false;
  bool switches_are_turned_away = false;
  const RdmaSight* rdma = nullptr;
};

/// Appends a part of the text. Returns where the next part begins, or nothing after the last.
[[nodiscard]] std::optional<MetricsPlace> metrics(const Sight& sight, const ManagerFigures& figures,
                                                  MetricsPlace from, std::string& text);

} // namespace tributary::api
