// A fabric as a file in this project's format: switches, hosts and links, in TOML. The manager
// reads one to check the cabling against, and keeps the last known topology in one.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>
#include <string_view>

namespace tributary::topology {

/// Throws configuration::ConfigError with all errors, by line. `file` is only used in messages.
[[nodiscard]] Graph read_toml(std::string_view text, const std::string& file);

/// Reading it again gives an equal graph: the same numbers and states.
[[nodiscard]] std::string write_toml(const Graph& graph);

} // namespace tributary::topology
