// The configuration from a file of this machine, checked against the machine's limits.
#pragma once

#include "dataplane/config/parse.hpp"
#include "lib/configuration/read_file.hpp"

#include <rte_config.h>
#include <unistd.h>

#include <string>

namespace tributary::dataplane {

inline config::Machine this_machine() {
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  return {.cpu_count = cpus > 0 ? static_cast<unsigned>(cpus) : 0,
          .dpdk_devices = RTE_MAX_ETHPORTS,
          .memory_order = config::memory_order_of_this_processor};
}

/// Throws configuration::ConfigError, also if the file cannot be read.
inline config::Parsed read_configuration(const std::string& path) {
  return config::parse_text(configuration::read_file(path), path, this_machine());
}

} // namespace tributary::dataplane
