// Queries that ranks may send with PMIx_Query_info: the key is a verb, qualifiers are its
// arguments.
//
//   fm.request     fm.method, fm.path, fm.body   asks the fabric manager with the job's token; the
//                                                answer is fm.status (of HTTP) and fm.body (JSON)
//   fm.inventory   PMIX_HOSTNAME                 a node's machine and interfaces, as JSON; without
//                                                the qualifier: all nodes
//   fm.mark        fm.name                       notes the time for --timing and --report
//
// Everything else is answered with PMIX_ERR_NOT_SUPPORTED.
#pragma once

#include "endpoint/launcher/control/launch.hpp"
#include "endpoint/launcher/fabric/fabric_client.hpp"

namespace tributary::launch::run {

/// A result of `answer_here`: the manager has to be asked.
inline constexpr int ask_the_manager = 1;

[[nodiscard]] messages::QueryAnswer answer_here(const messages::Query& query,
                                                control::Launch& launch, TimeNs now);
[[nodiscard]] fabric::Request request_in(const messages::Query& query);
[[nodiscard]] messages::QueryAnswer answer_of(std::uint64_t number, const fabric::Reply& reply);
[[nodiscard]] messages::QueryAnswer no_manager(std::uint64_t number);

} // namespace tributary::launch::run
