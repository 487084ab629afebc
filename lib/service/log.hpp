// The log: spdlog to standard error, in lines that journald accepts.
#pragma once

#include <string>

namespace tributary::service {

/// Once, at the start of `program`.
void start_logging(const std::string& program);
/// One of trace, debug, info, warning, error.
void set_log_level(const std::string& level);

} // namespace tributary::service
