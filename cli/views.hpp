// What a switch answered, for a person. Each takes the `result` of one command.
#pragma once

#include <boost/json/value.hpp>

#include <string>

namespace tributary::cli {

[[nodiscard]] std::string ports_view(const boost::json::value& result, bool colours);
/// Of the same answer as `ports_view`.
[[nodiscard]] std::string links_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string neighbours_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string queues_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string trees_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string engines_view(const boost::json::value& result, bool colours);
/// Only what is not 0.
[[nodiscard]] std::string counters_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string workers_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string manager_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string trace_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string explanation_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string version_view(const boost::json::value& result, bool colours);
[[nodiscard]] std::string reload_view(const boost::json::value& result, bool colours);

} // namespace tributary::cli
