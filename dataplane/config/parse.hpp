// From a configuration file to plain data, strictly: what the file says is understood whole, or
// refused with the file, the line, the key, what is wrong and what to do.
//
//   const Parsed parsed = parse_text(text, "switch.toml", {.cpu_count = 8});
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/config/host_machine.hpp"
#include "lib/configuration/diagnostic.hpp"
#include "lib/configuration/document.hpp"

#include <string>
#include <string_view>

namespace tributary::config {

/// What the machine limits; a member of 0 is not checked.
struct Machine {
  unsigned cpu_count = 0;
  unsigned dpdk_devices = 0; ///< that DPDK was built for
  MemoryOrder memory_order = MemoryOrder::as_written;
};

struct Parsed {
  Config config;
  configuration::Document document;
};

/// Throws ConfigError. `file` is only a name for messages.
[[nodiscard]] Parsed parse_text(std::string_view text, const std::string& file,
                                const Machine& machine = {});

/// The keys of one [switch.port.impairment] by themselves. Throws ConfigError.
[[nodiscard]] Impairment parse_impairment(std::string_view text, const std::string& file);

} // namespace tributary::config
