// Requirements on external texts before they are stored, logged or shown; quoting; and numbers in
// sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary {

/// Whether the text is UTF-8 without control characters: no line break, no terminal escape.
[[nodiscard]] constexpr bool is_printable(std::string_view text) {
  std::uint32_t code = 0;
  std::uint32_t least = 0; // smaller values have a shorter encoding
  int missing = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (missing > 0) {
      if ((byte & 0xC0U) != 0x80U) {
        return false;
      }
      code = code << 6 | (byte & 0x3FU);
      const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
      if (--missing == 0 && (code < least || code > 0x10FFFF || surrogate || code < 0xA0)) {
        return false;
      }
      continue;
    }
    if (byte < 0x20 || byte == 0x7F) {
      return false;
    }
    if (byte >= 0x80) {
      missing = (byte & 0xE0U) == 0xC0U ? 1 : (byte & 0xF0U) == 0xE0U ? 2 : 3;
      if (missing == 3 && (byte & 0xF8U) != 0xF0U) {
        return false;
      }
      code = byte & (0x3FU >> missing);
      least = missing == 1 ? 0x80 : missing == 2 ? 0x800 : 0x10000;
    }
  }
  return missing == 0;
}

/// "." and "..": clients resolve such path segments before they send them, so nothing with a path
/// can have such a name.
[[nodiscard]] constexpr bool is_dot_segment(std::string_view text) {
  return text == "." || text == "..";
}

/// In double quotes, as TOML, Graphviz and OpenMetrics read them: quotes, backslashes and ends of
/// lines are escaped.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + '"';
}

/// "16 members", "1 member"; `many` where the plural is not `one` with an s.
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view one,
                                         std::string_view many = {}) {
  std::string text = std::to_string(count) + ' ';
  text += count == 1 || many.empty() ? one : many;
  return count == 1 || !many.empty() ? text : text + 's';
}

} // namespace tributary
