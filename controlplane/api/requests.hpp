// Path, query and body of a request as the Service takes them (service.hpp), checked for shape:
// every check that does not depend on the fabric. Pure; all functions throw RequestError.
//
// The fields are those of docs/protocol/manager-api.md and openapi.json.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/api/target.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::api {

/// Longest wait that a join may ask for.
inline constexpr std::chrono::milliseconds max_join_wait{60'000};
/// Longest "timeout" of a multicast: an hour.
inline constexpr std::chrono::microseconds max_collective_timeout{3'600'000'000};

/// From paths.
[[nodiscard]] JobName job_name(const std::string& job);
[[nodiscard]] GroupName group_name(const std::string& job, const std::string& name);
[[nodiscard]] NodesRequest node_named(const std::string& name);

[[nodiscard]] JobRequest job_request(const boost::json::object& body);
[[nodiscard]] JobPatch job_patch(const std::string& job, const boost::json::object& body);
[[nodiscard]] MulticastRequest multicast_request(const boost::json::object& body);
[[nodiscard]] GroupRequest group_request(const boost::json::object& body);
[[nodiscard]] JoinRequest join_request(const std::string& group, const Target& target,
                                       const boost::json::object& body);
[[nodiscard]] MemberRequest member_request(const std::string& job, const std::string& group,
                                           const std::string& rank);

/// ?dry_run=true or false; the default is false.
[[nodiscard]] bool dry_run_of(const Target& target);

/// ?from=HOST&to=HOST, both needed.
[[nodiscard]] PathRequest path_request(const Target& target);
/// ?force=true or false; the default is false.
[[nodiscard]] DrainRequest drain_request(DrainRequest::Verb verb, const std::string& at,
                                         const Target& target);
/// ?limit=N; the default is ViewRequest::default_limit.
[[nodiscard]] std::size_t limit_of(const Target& target);

/// ?limit=N&after=NAME. Throws RequestError.
[[nodiscard]] NodesRequest nodes_request(const Target& target);

/// ?follow=, ?after=N in place of Last-Event-ID, ?job=JOB and, with it, ?environment=CODE,CODE.
/// Throws RequestError.
[[nodiscard]] EventsRequest events_request(const Target& target, std::string_view last_event_id);

/// limit, after, switch, job and group of the query. Throws RequestError.
[[nodiscard]] ViewRequest view_request(View what, const Target& target);

/// {"fabric": "00a1b2c3d4e5f607"}
[[nodiscard]] AdoptRequest adopt_request(const boost::json::object& body);

/// {"to": "fabric-b"}, or {}
[[nodiscard]] FailoverRequest failover_request(const boost::json::object& body);

/// From a path.
[[nodiscard]] TreeNumber tree_number(const std::string& text);

} // namespace tributary::api
