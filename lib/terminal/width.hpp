// The width of UTF-8 text on a terminal: a column for each character, two for those of East Asian
// scripts and for pictures, none for accents that combine with the previous character. Escape
// sequences are not supported.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tributary::terminal {

/// Bytes of the character that begins at `at`, which is within the text.
[[nodiscard]] std::size_t character_bytes(std::string_view text, std::size_t at);

[[nodiscard]] std::size_t width_of(std::string_view text);

/// The longest prefix of the text that fits into `columns`.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

/// The text, or as much of it as fits plus an ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// The text, padded with blanks to `columns`.
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);

} // namespace tributary::terminal
