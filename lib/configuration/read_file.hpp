// The only place where configuration accesses the disk: all parsers take text.
#pragma once

#include <string>

namespace tributary::configuration {

/// The whole file. Throws ConfigError if it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

} // namespace tributary::configuration
