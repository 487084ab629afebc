// Commented default files and the tables of the user guide, generated from a schema.
#pragma once

#include "lib/configuration/schema.hpp"

#include <map>
#include <string>
#include <string_view>

namespace tributary::configuration {

/// Values by key, as TOML, that replace the defaults.
using Overrides = std::map<std::string_view, std::string_view>;

/// A whole section, every key explained and marked `live` or `restart`.
[[nodiscard]] std::string section_text(const SectionSpec& section, const Overrides& overrides);

/// A section with only these keys.
[[nodiscard]] std::string short_section(const SectionSpec& section, const Overrides& values);

/// A table of keys for each section, as Markdown; states when changes apply if any applies live.
[[nodiscard]] std::string keys_markdown(Schema schema);

} // namespace tributary::configuration
