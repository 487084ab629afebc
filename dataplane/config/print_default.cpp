#include "dataplane/config/print_default.hpp"

#include "dataplane/config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace tributary::config {
namespace {

constexpr std::size_t comment_width = 96;

using Overrides = std::map<std::string_view, std::string_view>;

std::string header_of(Section section) {
  const auto path = path_of(section);
  return is_repeated(section) ? fmt::format("[[{}]]\n", path) : fmt::format("[{}]\n", path);
}

/// `text` broken into lines that begin with "#".
std::string comment(std::string_view text) {
  std::string out = "#";
  std::size_t column = out.size();
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column + 1 + word.size() > comment_width) {
      out += "\n#";
      column = 1;
    }
    out += ' ';
    out += word;
    column += 1 + word.size();
  }
  out += '\n';
  return out;
}

/// One key with its explanation: active with its value, or commented out with its sample.
std::string entry(const KeySpec& spec, const Overrides& overrides) {
  const auto given = overrides.find(spec.name);
  const bool is_sample_value = spec.required && spec.kinds == every_kind;
  std::string out =
      comment(fmt::format("[{}] {} ({})", name_of(spec.change), spec.help, describe(spec.type)));
  if (given != overrides.end()) {
    out += fmt::format("{} = {}\n", spec.name, given->second);
  } else if (is_sample_value) {
    out += fmt::format("{} = {}\n", spec.name, spec.sample);
  } else if (spec.kinds == every_kind && !spec.fallback.empty()) {
    out += fmt::format("{} = {}\n", spec.name, spec.fallback);
  } else {
    out +=
        fmt::format("# {} = {}\n", spec.name, spec.fallback.empty() ? spec.sample : spec.fallback);
  }
  return out;
}

std::string section_text(Section section, const Overrides& overrides) {
  std::string out = header_of(section);
  for (const KeySpec& spec : keys_of(section)) {
    out += entry(spec, overrides);
  }
  out += '\n';
  return out;
}

/// A section with nothing but these keys.
std::string short_section(Section section, const Overrides& values) {
  std::string out = header_of(section);
  for (const KeySpec& spec : keys_of(section)) {
    if (const auto it = values.find(spec.name); it != values.end()) {
      out += fmt::format("{} = {}\n", spec.name, it->second);
    }
  }
  out += '\n';
  return out;
}

} // namespace

std::string default_toml() {
  std::string out = "# The configuration of tributary-switch. Integers may be written as 0x...\n"
                    "# [live]: `tributaryctl reload` or SIGHUP applies a change. [restart]: a new "
                    "start does.\n\n";
  out += section_text(Section::process, {});
  out += "# A process may host several switches.\n";
  out += section_text(Section::switches, {});
  out += "# A port of the switch above; its keys depend on its kind.\n";
  out += section_text(Section::port, {{"interface", "\"eth0\""}, {"nid", "0x00001"}});
  out += "# Faults the port inflicts on purpose, for tests; none by default.\n";
  out += section_text(Section::impairment, {});
  out += short_section(Section::port,
                       {{"name", "\"host1\""}, {"interface", "\"eth1\""}, {"nid", "0x00002"}});
  out += "# A multicast tree through the switch above. Here host0 is the root.\n";
  out += section_text(Section::tree, {});
  out += "# Where unicast frames go.\n";
  out += section_text(Section::route, {});
  out += short_section(Section::route, {{"nid", "0x00002"}, {"port", "\"host1\""}});
  out.pop_back();
  return out;
}

std::string keys_markdown() {
  std::string out;
  for (const Section section : all_sections) {
    std::string header = header_of(section);
    header.pop_back();
    out += fmt::format("### `{}`\n\n", header);
    const bool with_kinds = section == Section::port;
    out += with_kinds
               ? "| key | value | default | change | kinds | meaning |\n|---|---|---|---|---|---|\n"
               : "| key | value | default | change | meaning |\n|---|---|---|---|---|\n";
    for (const KeySpec& spec : keys_of(section)) {
      std::string kinds;
      if (with_kinds && spec.kinds != every_kind) {
        for (std::size_t k = 0; k < std::size(port_kind_names); ++k) {
          if ((spec.kinds & mask_of(static_cast<PortKind>(k))) != 0) {
            kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", port_kind_names[k]);
          }
        }
      }
      out += fmt::format("| `{}` | {} | {} | {} |", spec.name, describe(spec.type),
                         !spec.fallback.empty() ? fmt::format("`{}`", spec.fallback)
                         : spec.required        ? "required"
                                                : "absent",
                         name_of(spec.change));
      if (with_kinds) {
        out += fmt::format(" {} |", kinds.empty() ? "all" : kinds);
      }
      out += fmt::format(" {} |\n", spec.help);
    }
    out += "\n";
  }
  out.pop_back();
  return out;
}

} // namespace tributary::config
