// Compares the fabric's cabling with the expected one.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>
#include <vector>

namespace tributary::topology {

/// Every difference, for a person: "leaf0 port 3 should go to spine1 port 0, goes to spine0 port
/// 2". Empty when the cabling is correct. Elements that are down count as missing.
[[nodiscard]] std::vector<std::string> check_cabling(const Graph& expected, const Graph& found);

} // namespace tributary::topology
