// A fabric as a file of our own: switches, hosts and links, in TOML. The manager reads one to
// check the cabling against, and keeps the topology last seen in one.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>
#include <string_view>

namespace tributary::topology {

/// Throws configuration::ConfigError with all that is wrong, by line. `file` is only a name for
/// messages.
[[nodiscard]] Graph read_toml(std::string_view text, const std::string& file);

/// Reading it again gives an equal graph: the same numbers, and what is down is down.
[[nodiscard]] std::string write_toml(const Graph& graph);

} // namespace tributary::topology
