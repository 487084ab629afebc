#include "lib/terminal/width.hpp"

#include <algorithm>
#include <cstdint>

namespace tributary::terminal {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// wcwidth() depends on the program's locale. Blocks of Unicode 15 with East Asian width W or F, and
// with general category Mn or Cf, as far as names and messages use them.
constexpr Range wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Range combining[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x200B, 0x200F},
                               {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

template <std::size_t N> bool is_in(const Range (&ranges)[N], std::uint32_t character) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const Range& range) {
    return range.first <= character && character <= range.last;
  });
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Columns of one character. Bytes that are not UTF-8 count as a character each.
std::size_t columns_of(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  std::uint32_t value = character.size() == 2   ? lead & 0x1FU
                        : character.size() == 3 ? lead & 0x0FU
                        : character.size() == 4 ? lead & 0x07U
                                                : 0;
  for (const char c : character.substr(1)) {
    value = value << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  }
  return is_in(combining, value) ? 0 : is_in(wide, value) ? 2 : 1;
}

} // namespace

std::size_t character_bytes(std::string_view text, std::size_t at) {
  std::size_t bytes = 1;
  while (at + bytes < text.size() && continues_character(text[at + bytes])) {
    ++bytes;
  }
  return bytes;
}

std::size_t width_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    columns += columns_of(text.substr(at, bytes));
    at += bytes;
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t bytes = character_bytes(text, end);
    const std::size_t takes = columns_of(text.substr(end, bytes));
    if (takes > columns) {
      break;
    }
    columns -= takes;
    end += bytes;
  }
  return std::string(text.substr(0, end));
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) {
    return std::string(text);
  }
  return columns == 0 ? "" : cut_to(text, columns - 1) + "\u2026";
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string out(text);
  out.append(columns - std::min(columns, width_of(text)), ' ');
  return out;
}

} // namespace tributary::terminal
