// A topology file of either format, told apart by what is in it: our own (toml_file.hpp), whose
// tables begin with "[[", or that of InfiniBand's tools (netlist_file.hpp).
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>
#include <string_view>

namespace tributary::topology {

/// Throws configuration::ConfigError with all that is wrong. `file` is only a name for messages.
[[nodiscard]] Graph read_topology(std::string_view text, const std::string& file);

} // namespace tributary::topology
