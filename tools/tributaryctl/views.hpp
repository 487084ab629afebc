// A switch's answers, for people. Each takes the `result` of one command.
#pragma once

#include "lib/terminal/display.hpp"

#include <boost/json/value.hpp>

#include <chrono>
#include <string>

namespace tributary::cli {

[[nodiscard]] std::string ports_view(const boost::json::value& result,
                                     const terminal::Display& display);
/// A view of the same answer as `ports_view`.
[[nodiscard]] std::string links_view(const boost::json::value& result,
                                     const terminal::Display& display);
[[nodiscard]] std::string neighbours_view(const boost::json::value& result,
                                          const terminal::Display& display);
[[nodiscard]] std::string queues_view(const boost::json::value& result,
                                      const terminal::Display& display);
[[nodiscard]] std::string trees_view(const boost::json::value& result,
                                     const terminal::Display& display);
[[nodiscard]] std::string engines_view(const boost::json::value& result,
                                       const terminal::Display& display);
/// Only counters that are not 0.
[[nodiscard]] std::string counters_view(const boost::json::value& result,
                                        const terminal::Display& display);
[[nodiscard]] std::string workers_view(const boost::json::value& result,
                                       const terminal::Display& display);
[[nodiscard]] std::string manager_view(const boost::json::value& result,
                                       const terminal::Display& display);
[[nodiscard]] std::string trace_view(const boost::json::value& result,
                                     const terminal::Display& display);
/// One event in a line, with its time of day; `now`: when the switch was asked.
[[nodiscard]] std::string trace_line(const boost::json::value& event,
                                     std::chrono::system_clock::time_point now,
                                     const terminal::Display& display);
[[nodiscard]] std::string explanation_view(const boost::json::value& result,
                                           const terminal::Display& display);
[[nodiscard]] std::string version_view(const boost::json::value& result,
                                       const terminal::Display& display);
[[nodiscard]] std::string reload_view(const boost::json::value& result,
                                      const terminal::Display& display);

} // namespace tributary::cli
