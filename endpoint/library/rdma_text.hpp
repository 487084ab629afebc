// Texts about transfers: the end of one, and what those in progress wait for.
#pragma once

#include "endpoint/rdma/completion.hpp"
#include "endpoint/rdma/node.hpp"
#include "tributary/rdma.h"

#include <string>

namespace tributary::library {

/// The enum tributary_error that a transfer ends with.
[[nodiscard]] int code_of(rdma::Cause cause);
[[nodiscard]] int code_of(rdma::BeginError error);
[[nodiscard]] tributary_rdma_completion in_c(const rdma::Completion& completion,
                                             std::uint64_t number, std::uint64_t user);
/// "write of 4096 bytes to NID 0x2 ... (transfer 0x1a): the peer has refused it: ...".
[[nodiscard]] std::string text_of(const tributary_rdma_completion& completion);
/// "NID 0x2 (VNI 5)", "NID 0x2, end point 256 (VNI 5)".
[[nodiscard]] std::string peer_text(EndPoint peer, Vni vni);
/// A line for each transfer in progress, and one for all counters that are not 0.
[[nodiscard]] std::string status_text(const rdma::Node& node);
/// What one transfer waits for; "" if it is not in progress.
[[nodiscard]] std::string waiting_text(const rdma::Node& node, const rdma::TransferId& id);

} // namespace tributary::library
