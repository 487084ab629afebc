// A topology file of either format, recognized by its content: this project's (toml_file.hpp),
// whose tables begin with "[[", or that of InfiniBand's tools (netlist_file.hpp).
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>
#include <string_view>

namespace tributary::topology {

/// Throws configuration::ConfigError with all errors. `file` is only used in messages.
[[nodiscard]] Graph read_topology(std::string_view text, const std::string& file);

} // namespace tributary::topology
