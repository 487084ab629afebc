#include "service/log.hpp"

#include <cstdlib>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace tributary::service {

void start_logging(const std::string& program) {
  spdlog::set_default_logger(spdlog::stderr_color_mt(program));
  // The journal has times of its own.
  spdlog::set_pattern(std::getenv("JOURNAL_STREAM") != nullptr ? "%l: %v"
                                                               : "%Y-%m-%d %H:%M:%S.%e %^%l%$: %v");
}

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

} // namespace tributary::service
