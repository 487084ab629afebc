#include "lib/configuration/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include <algorithm>

namespace tributary::configuration {
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

/// A key's line in the table of its section.
std::string row(const SectionSpec& section, const KeySpec& spec, bool with_change) {
  std::string out = fmt::format("| `{}` | {} | {} |", spec.name, describe(spec.type),
                                !spec.fallback.empty() ? fmt::format("`{}`", spec.fallback)
                                : spec.required        ? "required"
                                                       : "absent");
  if (with_change) {
    out += fmt::format(" {} |", name_of(spec.change));
  }
  if (!section.kinds.empty()) {
    std::vector<std::string_view> kinds;
    for (std::size_t k = 0; k < section.kinds.size() && spec.kinds != every_kind; ++k) {
      if ((spec.kinds & KindMask{1} << k) != 0) {
        kinds.push_back(section.kinds[k]);
      }
    }
    out += fmt::format(" {} |", kinds.empty() ? "all" : fmt::format("{}", fmt::join(kinds, ", ")));
  }
  return out + fmt::format(" {} |\n", spec.help);
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
  bool any_live = false;
  for (const SectionSpec& section : schema) {
    any_live = any_live || std::ranges::any_of(section.keys, [](const KeySpec& spec) {
                 return spec.change == Change::live;
               });
  }
  std::string out;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const SectionSpec& section = schema[i];
    const auto same = std::ranges::find_if(schema.first(i), [&](const SectionSpec& s) {
      return s.keys.data() == section.keys.data();
    });
    out += fmt::format("### `{}`\n\n", header_of(section));
    if (same != schema.first(i).end()) {
      out += fmt::format("The keys of `{}`.\n\n", header_of(*same));
      continue;
    }
    std::vector<std::string_view> columns = {"key", "value", "default"};
    if (any_live) {
      columns.push_back("change");
    }
    if (!section.kinds.empty()) {
      columns.push_back("kinds");
    }
    columns.push_back("meaning");
    out += fmt::format("| {} |\n|", fmt::join(columns, " | "));
    for (std::size_t column = 0; column < columns.size(); ++column) {
      out += "---|";
    }
    out += '\n';
    for (const KeySpec& spec : section.keys) {
      out += row(section, spec, any_live);
    }
    out += '\n';
  }
  out.pop_back();
  return out;
}

} // namespace tributary::configuration
