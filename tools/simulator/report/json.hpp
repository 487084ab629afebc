// A report as JSON; docs/guide/simulator.md explains the keys.
#pragma once

#include "tools/simulator/report/point.hpp"

#include <string>

namespace tributary::simulator::report {

/// One line, ends with a line break. All but the member `speed` of each point is the same for the
/// same settings, whatever else the machine does. `with_links`: the load of every link, too.
[[nodiscard]] std::string json_text(const Report& report, bool with_links);

} // namespace tributary::simulator::report
