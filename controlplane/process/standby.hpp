// A manager among those that share an etcd: it waits as a standby, runs as the fabric's manager
// while it leads, and is a standby again when it has lost the lead.
#pragma once

#include "controlplane/process/config.hpp"

#include <string>

namespace tributary::fabricd {

/// Serves until SIGTERM or SIGINT. The file is read again before each leadership: SIGHUP does
/// nothing to a standby. Throws std::runtime_error, which says what to do.
void run_with_etcd(const Config& config, bool keeps_log_level);

} // namespace tributary::fabricd
