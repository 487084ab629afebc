// A scenario from TOML: a file, overridden by options of the command line, or options alone.
#pragma once

#include "lib/configuration/diagnostic.hpp"
#include "pktgen/scenario/keys.hpp"
#include "pktgen/scenario/scenario.hpp"

#include <toml++/toml.h>

#include <string>
#include <utility>
#include <vector>

namespace tributary::pktgen::scenario {

struct ReadScenario {
  Scenario scenario;
  /// All settings, defaults included, as {"traffic: leaves", "16"}, in the order of the keys.
  std::vector<std::pair<std::string, std::string>> settings;
};

/// Throws configuration::ConfigError listing all errors of `file`: unknown keys, wrong values, and
/// contradictions.
[[nodiscard]] ReadScenario read_scenario(const toml::table& root, const std::string& name,
                                         const std::string& file);

/// These settings as a file that reads back to the same scenario.
[[nodiscard]] std::string
scenario_text(const std::vector<std::pair<std::string, std::string>>& settings);

/// The text of an option as TOML of this type: "a,b" for lists, "10k", "2M" and "1G" for numbers.
/// False when it cannot be of the type.
[[nodiscard]] bool put_option(toml::table& section, const configuration::KeySpec& key,
                              const std::string& text);

} // namespace tributary::pktgen::scenario
