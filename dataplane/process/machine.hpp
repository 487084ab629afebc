// The limits that the machine sets to a configuration.
#pragma once

#include "dataplane/config/parse.hpp"

#include <rte_config.h>
#include <unistd.h>

namespace tributary::dataplane {

inline config::Machine this_machine() {
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  return {.cpu_count = cpus > 0 ? static_cast<unsigned>(cpus) : 0,
          .dpdk_devices = RTE_MAX_ETHPORTS};
}

} // namespace tributary::dataplane
