// From a configuration file to plain data, strictly: the file is accepted as a whole, or rejected
// with the file, the line, the key, the problem and the remedy.
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

/// Limits of the machine; a member of 0 is not checked.
struct Machine {
  unsigned cpu_count = 0;
  unsigned dpdk_devices = 0; ///< limit of this DPDK build
  MemoryOrder memory_order = MemoryOrder::as_written;
};

struct Parsed {
  Config config;
  configuration::Document document;
};

/// Throws ConfigError. `file` is a name for messages only.
[[nodiscard]] Parsed parse_text(std::string_view text, const std::string& file,
                                const Machine& machine = {});

/// The keys of one [switch.port.impairment] alone. Throws ConfigError.
[[nodiscard]] Impairment parse_impairment(std::string_view text, const std::string& file);

} // namespace tributary::config
