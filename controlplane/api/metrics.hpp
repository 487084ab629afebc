// Metrics for Prometheus: OpenMetrics text, without the closing "# EOF". Pure.
//
// A fabric of thousands of switches has megabytes of it. It is produced in parts, and the manager
// does other work between them; a sample is as of when it was written.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/api/views.hpp"
#include "lib/statistics/counter_info.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tributary::api {

struct RdmaReadView;

/// A metric of the manager itself, and its value.
struct ManagerMetric {
  std::string_view name; ///< without "_total"
  statistics::MetricType type;
  std::string_view help;
  std::uint64_t value;
  statistics::Unit unit = statistics::Unit::number;
};

/// Appends a part of the text. Returns where the next part begins, or nothing after the last.
[[nodiscard]] std::optional<MetricsPlace> metrics(const ReadView& read_view,
                                                  std::span<const ManagerMetric> own,
                                                  const RdmaReadView& rdma, MetricsPlace from,
                                                  std::string& text);

} // namespace tributary::api
