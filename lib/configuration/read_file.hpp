// The only place where configuration touches the disk: everything that understands a file takes its
// text.
#pragma once

#include <string>

namespace tributary::configuration {

/// The whole file. Throws ConfigError when it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

} // namespace tributary::configuration
