// The text of a configuration file as TOML, and its tables. read_file.hpp reads it from disk.
#pragma once

#include "lib/configuration/findings.hpp"
#include "lib/configuration/schema.hpp"

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace tributary::configuration {

/// Throws ConfigError, with the name `file`, if the text is not TOML.
[[nodiscard]] toml::table parse_toml(std::string_view text, const std::string& file);

/// Reports top-level entries of a file that are not sections of the schema.
void check_top_level(const toml::table& root, Schema schema, Findings& findings);

/// The tables of a section in `parent`; empty if it is absent.
[[nodiscard]] std::vector<const toml::table*> tables_of(const toml::table& parent,
                                                        std::string_view name,
                                                        const SectionSpec& section,
                                                        Findings& findings);

} // namespace tributary::configuration
