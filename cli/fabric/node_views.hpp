// What nodes of jobs have, for a person.
#pragma once

#include "cli/entry.hpp"

#include <string>
#include <vector>

namespace tributary::cli {

/// A line for each node.
[[nodiscard]] std::string nodes(const std::vector<Entry>& list, bool colours);
/// One node, and a line for each of its interfaces.
[[nodiscard]] std::string node_view(const Entry& one, bool colours);

} // namespace tributary::cli
