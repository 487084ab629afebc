// A report as text for people and for other programs.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/simulator/experiment/probe.hpp"
#include "tools/simulator/report/point.hpp"

#include <span>
#include <string>

namespace tributary::simulator::report {

/// A table with a line for each load; drops, and a deadlock's cycle.
[[nodiscard]] std::string table_text(const Report& report, const terminal::Display& display);

/// A line for each load, with a heading: no text that needs quotes.
[[nodiscard]] std::string csv_text(const Report& report);

/// A gnuplot script with its data: accepted load and latency over offered load. `gnuplot -p FILE`
/// shows it in a window.
[[nodiscard]] std::string plot_text(const Report& report);

[[nodiscard]] std::string probe_text(std::span<const experiment::ProbedLatency> probed,
                                     const terminal::Display& display);

} // namespace tributary::simulator::report
