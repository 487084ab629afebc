// The files that a configuration names, other than the topology.
#pragma once

#include "controlplane/process/config.hpp"

#include <string>

namespace tributary::fabricd {

/// The first line of the file; "" without one. Throws std::runtime_error.
[[nodiscard]] std::string administrator_token(const Rest& config);

/// Reads TLS files and the token as a start does. Throws configuration::ConfigError with all that
/// cannot be used.
void check_files(const Config& config);

} // namespace tributary::fabricd
