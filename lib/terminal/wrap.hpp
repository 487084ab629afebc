// Text for people, in lines that a terminal has room for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::terminal {

/// One line in as many as it takes, broken at blanks, and within words that are longer than a
/// line. The first may have `first` columns, the others `others`; none ends with a blank, and at
/// least one is returned. Escape sequences of colours take no room.
[[nodiscard]] std::vector<std::string> broken(std::string_view line, std::size_t first,
                                              std::size_t others);

/// Every line of `text` that is longer than `columns` is broken; what follows is indented by two
/// more than the line itself is. Lines that fit stay as they are.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);

} // namespace tributary::terminal
