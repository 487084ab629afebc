// Breaks text into lines that fit a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::terminal {

/// Breaks one line into as many as necessary, at blanks, and within words that are longer than a
/// line. The first may have `first` columns, the others `others`; none ends with a blank, and at
/// least one is returned. Escape sequences of colours have no width.
[[nodiscard]] std::vector<std::string> broken(std::string_view line, std::size_t first,
                                              std::size_t others);

/// Breaks every line of `text` that is longer than `columns`; the continuation is indented by two
/// more than the line itself. Lines that fit stay unchanged.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);

} // namespace tributary::terminal
