// The files named in a configuration, except for the topology.
#pragma once

#include "controlplane/process/config.hpp"

#include <string>

namespace tributary::fabricd {

/// The first line of the file; "" if no file is configured. Throws std::runtime_error.
[[nodiscard]] std::string administrator_token(const Rest& config);

/// The first line of store.etcd_password_file; "" if none is configured. Throws std::runtime_error.
[[nodiscard]] std::string etcd_password(const Store& config);

/// Where the store's etcd is, and as whom. Throws std::runtime_error.
[[nodiscard]] etcd::ClientSettings etcd_client(const Store& config);

/// Reads TLS files and the token like a start. Throws configuration::ConfigError with all that are
/// unusable.
void check_files(const Config& config);

} // namespace tributary::fabricd
