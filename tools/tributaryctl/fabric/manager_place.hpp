// Where the fabric manager is and who asks, from the command line: the same for every command that
// asks it.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"

#include <optional>
#include <stdexcept>
#include <string>

namespace CLI {
class App;
}

namespace tributary::cli {

/// A wrong value on the command line or in the environment.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// What is not given comes from the environment.
struct ManagerPlace {
  std::optional<std::string> manager;
  std::optional<std::string> token_file;
  std::optional<std::string> certificate_authority;
};

void add_manager_options(CLI::App& app, ManagerPlace& place);
/// Throws UsageError for an address that is none, std::runtime_error when no token can be read.
[[nodiscard]] manager_client::ClientSettings settings_of(const ManagerPlace& place);

} // namespace tributary::cli
