// The metrics of a switch process for Prometheus: OpenMetrics text, "# EOF" included. Pure.
//
// Names begin with tributary_switch_, so that a site may scrape the fabric manager, too, whose
// figures of the same switches have other labels (tributary_port_..., with port numbers): here a
// port has its name from the configuration. docs/operate/metrics.md lists the families.
//
// Every drop reason of every port is present from the start, with 0: a rate over a series that
// appears with its first event misses that event.
#pragma once

#include "dataplane/management/reports.hpp"

#include <string>

namespace tributary::management {

[[nodiscard]] std::string openmetrics(const MetricsReport& report);

} // namespace tributary::management
