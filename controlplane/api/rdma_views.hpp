// Retransmit handling as JSON: docs/protocol/manager-api.md. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/retransmit/exception_log.hpp"
#include "controlplane/retransmit/peer_table.hpp"
#include "controlplane/retransmit/policy_document.hpp"
#include "controlplane/retransmit/suspects.hpp"
#include "controlplane/retransmit/transfers.hpp"
#include "controlplane/topology/graph.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::api {

/// Sources of the RDMA views.
struct RdmaReadView {
  const topology::Graph& graph;
  const retransmit::PolicyDocument& document;
  const retransmit::PeerTable& peers;
  const retransmit::Suspects& suspects;
  const retransmit::Transfers& transfers;
  const retransmit::ExceptionLog& exceptions;
  std::uint64_t reports = 0; ///< from hosts, since the start
};

/// All fields of a policy by name.
[[nodiscard]] boost::json::object json_of(const retransmit::Policy& policy);
/// Policies of all scopes that have settings, or of one VNI.
[[nodiscard]] boost::json::object rdma_policy_json(const RdmaReadView& read_view,
                                                   std::optional<Vni> vni);
[[nodiscard]] boost::json::object rdma_peers_json(const RdmaReadView& read_view, std::size_t limit,
                                                  TimeNs now);
/// Transfers with the most time-outs and busy answers first.
[[nodiscard]] boost::json::object rdma_transfers_json(const RdmaReadView& read_view,
                                                      std::size_t limit);
/// The latest first.
[[nodiscard]] boost::json::object rdma_exceptions_json(const RdmaReadView& read_view,
                                                       std::size_t limit, TimeNs now);

/// The answer to a host's report.
struct RdmaInstruction {
  std::vector<retransmit::PeerId> probe;
  std::uint64_t next_report_ms = 0;
};
[[nodiscard]] boost::json::object rdma_instruction_json(const RdmaReadView& read_view,
                                                        const RdmaReport& report,
                                                        const RdmaInstruction& instruction);

/// OpenMetrics text.
void rdma_metrics(const RdmaReadView& read_view, std::string& text);

} // namespace tributary::api
