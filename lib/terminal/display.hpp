// The target of text layout: a terminal of some width, with or without colours, or a file with
// lines of any length. Every table and view takes one.
#pragma once

#include <cstddef>
#include <limits>

namespace tributary::terminal {

inline constexpr std::size_t any_width = std::numeric_limits<std::size_t>::max();

struct Display {
  // NOLINTNEXTLINE(google-explicit-constructor): views of tests and files have colours or none
  Display(bool with_colours = false, std::size_t width = any_width)
      : colours(with_colours), columns(width) {}

  bool colours;
  std::size_t columns; ///< `any_width`: nothing is omitted or shortened
};

/// COLUMNS, if the environment has a number above 0; otherwise a terminal's own width. All else
/// takes lines of any length, so that a pipe or a file gets everything.
[[nodiscard]] Display display_of(int descriptor);

} // namespace tributary::terminal
