// How much room UTF-8 text takes on a terminal: a column for each character, two for those of East
// Asian scripts and for pictures, none for accents that combine with the character before. Escape
// sequences are not for these functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tributary::terminal {

/// Bytes of the character that begins at `at`, which is within the text.
[[nodiscard]] std::size_t character_bytes(std::string_view text, std::size_t at);

[[nodiscard]] std::size_t width_of(std::string_view text);

/// As much of the text as fits into so many columns.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

/// The text, or as much of it as fits and an ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// The text and blanks to fill so many columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);

} // namespace tributary::terminal
