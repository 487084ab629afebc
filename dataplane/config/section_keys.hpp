// The keys of each section, one file per group of sections; schema.cpp orders them. `assign` of
// schema.hpp applies a key to the configuration.
#pragma once

#include "dataplane/config/schema.hpp"

#include <span>

namespace tributary::config {

[[nodiscard]] std::span<const configuration::KeySpec> specs_of_process();
[[nodiscard]] std::span<const configuration::KeySpec> specs_of_manager();
[[nodiscard]] std::span<const configuration::KeySpec> specs_of_switch();
[[nodiscard]] std::span<const configuration::KeySpec> specs_of_port();
[[nodiscard]] std::span<const configuration::KeySpec> specs_of_impairment();
[[nodiscard]] std::span<const configuration::KeySpec> specs_of_class();
[[nodiscard]] std::span<const configuration::KeySpec> specs_of_tree();
[[nodiscard]] std::span<const configuration::KeySpec> specs_of_route();

/// Sets detection and restoration to the same time.
inline void set_watchdog(Classes& classes, const configuration::Value& v) {
  const std::uint64_t ns = configuration::integer<std::uint64_t>(v) * ns_per_ms;
  classes.queues.watchdog = {.detection_ns = ns, .restoration_ns = ns};
}

} // namespace tributary::config
