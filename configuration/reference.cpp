#include "configuration/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::config {
namespace {

constexpr std::size_t comment_width = 96;

std::string header_of(const SectionSpec& section) {
  return section.repeated ? fmt::format("[[{}]]", section.path) : fmt::format("[{}]", section.path);
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

} // namespace

std::string section_text(const SectionSpec& section, const Overrides& overrides) {
  std::string out = header_of(section) + "\n";
  for (const KeySpec& spec : section.keys) {
    out += entry(spec, overrides);
  }
  out += '\n';
  return out;
}

std::string short_section(const SectionSpec& section, const Overrides& values) {
  std::string out = header_of(section) + "\n";
  for (const KeySpec& spec : section.keys) {
    if (const auto it = values.find(spec.name); it != values.end()) {
      out += fmt::format("{} = {}\n", spec.name, it->second);
    }
  }
  out += '\n';
  return out;
}

std::string keys_markdown(Schema schema) {
  std::string out;
  for (const SectionSpec& section : schema) {
    out += fmt::format("### `{}`\n\n", header_of(section));
    const bool with_kinds = !section.kinds.empty();
    out += with_kinds
               ? "| key | value | default | change | kinds | meaning |\n|---|---|---|---|---|---|\n"
               : "| key | value | default | change | meaning |\n|---|---|---|---|---|\n";
    for (const KeySpec& spec : section.keys) {
      std::string kinds;
      if (with_kinds && spec.kinds != every_kind) {
        for (std::size_t k = 0; k < section.kinds.size(); ++k) {
          if ((spec.kinds & KindMask{1} << k) != 0) {
            kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", section.kinds[k]);
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
