#include "terminal/width.hpp"

#include <algorithm>

namespace tributary::terminal {
namespace {

/// A UTF-8 continuation byte takes no room.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

} // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut_to(std::string_view text, std::size_t columns) {
  const auto end = std::find_if(text.begin(), text.end(), [&](char c) {
    const bool beyond = begins_character(c) && columns == 0;
    columns -= begins_character(c) && !beyond ? 1 : 0;
    return beyond;
  });
  return {text.begin(), end};
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string out(text);
  out.append(columns - std::min(columns, width_of(text)), ' ');
  return out;
}

} // namespace tributary::terminal
