// Frames as hex digits, with or without spaces, colons, line breaks, "0x", and the offsets of a hex
// dump ("0010: ...").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::management {

/// The bytes; on failure empty, and `problem` describes the error and its position.
inline std::vector<std::byte> parse_hex(std::string_view text, std::string& problem) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  std::vector<std::byte> bytes;
  int high = -1;
  bool line_start = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (line_start && !is_space(c)) {
      line_start = false;
      // An offset: digits up to a colon that is followed by a space.
      std::size_t end = i;
      while (end < text.size() && digit(text[end]) >= 0) {
        ++end;
      }
      if (end > i && end + 1 < text.size() && text[end] == ':' && is_space(text[end + 1])) {
        i = end;
        continue;
      }
    }
    if (is_space(c) || c == ':' || c == '-') {
      line_start = line_start || c == '\n';
      continue;
    }
    if (c == '0' && high < 0 && i + 1 < text.size() && (text[i + 1] == 'x' || text[i + 1] == 'X')) {
      ++i;
      continue;
    }
    const int value = digit(c);
    if (value < 0) {
      problem = "'" + std::string(1, c) + "' at position " + std::to_string(i + 1) +
                " is not a hex digit";
      return {};
    }
    if (high < 0) {
      high = value;
    } else {
      bytes.push_back(static_cast<std::byte>(high << 4 | value));
      high = -1;
    }
  }
  if (high >= 0) {
    problem = "an odd number of hex digits";
    return {};
  }
  if (bytes.empty()) {
    problem = "no hex digits";
  }
  return bytes;
}

} // namespace tributary::management
