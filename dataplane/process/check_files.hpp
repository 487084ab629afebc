// The files named by a switch's configuration.
#pragma once

#include "dataplane/config/parse.hpp"

#include <string>

namespace tributary::dataplane {

/// Reads them as a start does. Throws configuration::ConfigError for unusable ones.
void check_files(const config::Parsed& parsed, const std::string& file);

} // namespace tributary::dataplane
