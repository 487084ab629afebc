// Our own protocol on the same line: two real nodes (endpoint/rdma), with their frames, in virtual
// time.
#pragma once

#include "bench/rdma/exchange.hpp"

#include <cstdint>
#include <vector>

namespace tributary::rdma::simulation {

/// The cost of each of `transfers` writes, one after the other.
[[nodiscard]] std::vector<Cost> run_nodes(const Line& line, const Transfer& transfer,
                                          std::uint32_t transfers, std::uint64_t seed);

} // namespace tributary::rdma::simulation
