#include "lib/configuration/file.hpp"

#include "lib/configuration/section_reader.hpp"
#include "lib/configuration/suggest.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace tributary::configuration {

toml::table parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    throw ConfigError(file, {{static_cast<int>(e.source().begin.line), "",
                              fmt::format("not valid TOML at column {}: {}; correct this place",
                                          e.source().begin.column, e.description())}});
  }
}

void check_top_level(const toml::table& root, Schema schema, Findings& findings) {
  std::vector<std::string_view> known;
  std::vector<std::string> written;
  for (const SectionSpec& section : schema) {
    if (section.path.find('.') == std::string_view::npos) {
      known.push_back(section.path);
      written.push_back(
          fmt::format(fmt::runtime(section.repeated ? "[[{}]]" : "[{}]"), section.path));
    }
  }
  for (const auto& [key, node] : root) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      const auto near = nearest(key.str(), known);
      findings.add(line_of(key), std::string(key.str()), "unknown section; {}",
                   near.empty() ? fmt::format("known are {}", fmt::join(written, " and "))
                                : fmt::format("did you mean '{}'?", near));
    }
  }
}

std::vector<const toml::table*> tables_of(const toml::table& parent, std::string_view name,
                                          const SectionSpec& section, Findings& findings) {
  const auto it = parent.find(name);
  if (it == parent.end()) {
    return {};
  }
  std::vector<const toml::table*> tables;
  const auto refuse = [&](std::string_view right) {
    findings.add(line_of(it->first), std::string(section.path), "has the wrong form; write {}",
                 right);
    return std::vector<const toml::table*>{};
  };
  if (!section.repeated) {
    if (!it->second.is_table()) {
      return refuse(fmt::format("[{}], once", section.path));
    }
    return {it->second.as_table()};
  }
  const toml::array* array = it->second.as_array();
  if (array == nullptr) {
    return refuse(fmt::format("[[{}]], with two brackets", section.path));
  }
  for (const toml::node& element : *array) {
    if (!element.is_table()) {
      return refuse(fmt::format("[[{}]], with two brackets", section.path));
    }
    tables.push_back(element.as_table());
  }
  return tables;
}

} // namespace tributary::configuration
