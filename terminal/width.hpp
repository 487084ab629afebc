// How much room UTF-8 text takes on a terminal: a column for each character. Escape sequences are
// not for these functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tributary::terminal {

[[nodiscard]] std::size_t width_of(std::string_view text);

/// As much of the text as fits into so many columns.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

/// The text and blanks to fill so many columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);

} // namespace tributary::terminal
