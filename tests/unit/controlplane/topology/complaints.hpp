#pragma once

#include "lib/configuration/diagnostic.hpp"

#include <string>
#include <vector>

namespace tributary::topology {

/// The errors of a file that `read` reads, a line each; empty when it is valid.
template <typename Read> std::vector<std::string> complaints_of(Read read) {
  std::vector<std::string> all;
  try {
    static_cast<void>(read());
  } catch (const configuration::ConfigError& error) {
    for (const auto& finding : error.findings()) {
      all.push_back(finding.message(error.file()));
    }
  }
  return all;
}

} // namespace tributary::topology
