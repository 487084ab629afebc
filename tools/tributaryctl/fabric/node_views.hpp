// Nodes of jobs, for people.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <string>
#include <vector>

namespace tributary::cli {

/// A line for each node.
[[nodiscard]] std::string nodes(const std::vector<Entry>& list, const terminal::Display& display);
/// One node, and a line for each of its interfaces.
[[nodiscard]] std::string node_view(const Entry& one, const terminal::Display& display);

} // namespace tributary::cli
