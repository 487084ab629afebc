// Requests about RDMA, from body and query, checked for shape. Pure; all throw RequestError.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/api/target.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace tributary::api {

/// ?vni=N (policy) and ?limit=N
[[nodiscard]] RdmaViewRequest rdma_view_request(RdmaView what, const Target& target);
/// {"vni": 1024, "set": {"window": 512, "initial_timeout_ns": "2ms"}, "reset": ["restarts"]};
/// "reset": true resets all settings.
[[nodiscard]] RdmaPolicyPatch rdma_policy_patch(const boost::json::object& body);
/// The VNI and the host are in the path.
[[nodiscard]] RdmaQuarantineRequest rdma_quarantine_request(bool quarantine, const std::string& vni,
                                                            const std::string& host);
[[nodiscard]] RdmaReport rdma_report(const boost::json::object& body);

} // namespace tributary::api
