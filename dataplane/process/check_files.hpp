// The files that a switch's configuration names.
#pragma once

#include "dataplane/config/parse.hpp"

#include <string>

namespace tributary::dataplane {

/// Reads them as a start does. Throws configuration::ConfigError with what cannot be used.
void check_files(const config::Parsed& parsed, const std::string& file);

} // namespace tributary::dataplane
