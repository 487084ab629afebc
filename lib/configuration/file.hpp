// The text of a configuration file as TOML, and its tables. read_file.hpp gets it from the disk.
#pragma once

#include "lib/configuration/findings.hpp"
#include "lib/configuration/schema.hpp"

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace tributary::configuration {

/// Throws ConfigError, as `file`, when the text is not TOML.
[[nodiscard]] toml::table parse_toml(std::string_view text, const std::string& file);

/// Reports what stands at the top of a file and is none of the schema's sections.
void check_top_level(const toml::table& root, Schema schema, Findings& findings);

/// The tables a section's name stands for in `parent`; empty when it is not there.
[[nodiscard]] std::vector<const toml::table*> tables_of(const toml::table& parent,
                                                        std::string_view name,
                                                        const SectionSpec& section,
                                                        Findings& findings);

} // namespace tributary::configuration
