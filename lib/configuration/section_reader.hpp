// Reads one TOML table as a section: checks every key against the schema, and refuses all others.
#pragma once

#include "lib/configuration/document.hpp"
#include "lib/configuration/file.hpp"
#include "lib/configuration/findings.hpp"
#include "lib/configuration/schema.hpp"

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::configuration {

inline int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }
inline int line_of(const toml::key& key) { return static_cast<int>(key.source().begin.line); }

/// The value of a node according to `type`; otherwise empty, and `problem` contains the reason.
[[nodiscard]] std::optional<Value> read_value(const toml::node& node, const Type& type,
                                              std::string& problem);

/// The canonical spelling of a value, as TOML.
[[nodiscard]] std::string to_toml(const Value& value);
/// The same for a value of this type; without it, a duration is an integer.
[[nodiscard]] std::string to_toml(const Value& value, const Type& type);

/// The spelling `to_toml` gives a fallback of the schema.
[[nodiscard]] std::string canonical_fallback(const KeySpec& spec);

/// The values found, by index of the key in the schema, all of the right type. Reports unknown
/// keys, wrong types and values, missing keys, and keys that do not apply to the section's kind.
/// `document` receives every setting under `owner`, e.g. "switch leaf0, port host0".
class SectionReader {
public:
  /// `section` is one of `schema`; both must outlive the reader.
  SectionReader(const toml::table& table, Schema schema, const SectionSpec& section,
                Findings& findings);

  /// The line of the section's header.
  [[nodiscard]] int line() const { return line_; }
  /// The line of a key, or of the header if the key is absent.
  [[nodiscard]] int line(std::string_view key) const;
  [[nodiscard]] std::string path(std::string_view key) const;

  template <typename Target> void read_into(Target& target) const {
    for (const auto& [index, value] : values_) {
      assign(index, value, target);
    }
  }
  void write_to(Document& document, const std::string& owner) const;

private:
  void check_unknown(const toml::table& table, Findings& findings) const;
  void check_kind(const toml::table& table, Findings& findings) const;
  /// The number of its kind; empty if it has no kinds, or the given one was refused.
  [[nodiscard]] std::optional<std::size_t> kind() const;

  Schema schema_;
  const SectionSpec& section_;
  int line_;
  std::vector<std::pair<std::size_t, Value>> values_;
  std::vector<std::pair<std::string_view, int>> lines_;
};

/// Reads a section that a file has at most once into `target`, and its settings into `document`.
/// `assign(index, value, target)` is found through the type of the target.
template <typename Target>
SectionReader read_section(const toml::table& root, Schema schema, const SectionSpec& section,
                           Target& target, Document& document, Findings& findings) {
  const toml::table empty;
  const auto tables = tables_of(root, section.path, section, findings);
  SectionReader reader(tables.empty() ? empty : *tables.front(), schema, section, findings);
  reader.read_into(target);
  reader.write_to(document, std::string(section.path));
  return reader;
}

} // namespace tributary::configuration
