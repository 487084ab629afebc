// The name of this machine.
#pragma once

#include <string>

#include <unistd.h>

namespace tributary::launch::run {

/// "localhost" where it has no name, or one that is too long.
[[nodiscard]] inline std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) {
    return "localhost";
  }
  return name.c_str();
}

} // namespace tributary::launch::run
