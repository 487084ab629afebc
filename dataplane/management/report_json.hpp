// Reports as JSON: the `result` of an answer on the control socket, and the output of `tributaryctl
// --json`. Keys are the names of the figures; keys that do not apply to an entry are absent.
#pragma once

#include "dataplane/management/reports.hpp"

#include <boost/json/value.hpp>

#include <vector>

namespace tributary::management {

[[nodiscard]] boost::json::value to_json(const std::vector<PortReport>& ports);
[[nodiscard]] boost::json::value to_json(const std::vector<QueueReport>& queues);
[[nodiscard]] boost::json::value to_json(const std::vector<TreeReport>& trees);
[[nodiscard]] boost::json::value to_json(const std::vector<EngineReport>& engines);
[[nodiscard]] boost::json::value to_json(const std::vector<WorkerReport>& workers);
[[nodiscard]] boost::json::value to_json(const std::vector<ManagerReport>& managers);
[[nodiscard]] boost::json::value to_json(const std::vector<NeighbourReport>& neighbours);
[[nodiscard]] boost::json::value to_json(const std::vector<TraceReport>& events);
[[nodiscard]] boost::json::value to_json(const ExplainReport& explanation);
[[nodiscard]] boost::json::value to_json(const VersionReport& version);
[[nodiscard]] boost::json::value to_json(const ReloadReport& reload);

/// Every counter under one flat name, e.g. "leaf0.port.host0.drop.no_route".
[[nodiscard]] boost::json::value flat_counters(const std::vector<PortReport>& ports,
                                               const std::vector<QueueReport>& queues,
                                               const std::vector<TreeReport>& trees,
                                               const std::vector<EngineReport>& engines,
                                               const std::vector<WorkerReport>& workers,
                                               const std::vector<ImpairmentReport>& impairments);

} // namespace tributary::management
