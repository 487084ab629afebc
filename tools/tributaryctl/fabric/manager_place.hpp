// Address of the fabric manager and identity of the caller, from the command line: the same for
// every command that uses it.
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

/// Missing values are taken from the environment.
struct ManagerPlace {
  std::optional<std::string> manager;
  std::optional<std::string> token_file;
  std::optional<std::string> certificate_authority;
};

void add_manager_options(CLI::App& app, ManagerPlace& place);
/// Throws UsageError for an invalid address, std::runtime_error when no token can be read.
[[nodiscard]] manager_client::ClientSettings settings_of(const ManagerPlace& place);

} // namespace tributary::cli
