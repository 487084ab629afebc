// The kind of an open descriptor: whether it is a terminal, and its size.
#pragma once

#include <cstddef>

namespace tributary::terminal {

/// Whether it is a terminal with escape sequences: TERM=dumb has none.
[[nodiscard]] bool is_terminal(int descriptor);

/// On a terminal, unless NO_COLOR is set.
[[nodiscard]] bool wants_colours(int descriptor);

struct Size {
  std::size_t columns = 80;
  std::size_t rows = 24;
};
/// 80 by 24 if unknown.
[[nodiscard]] Size size_of(int descriptor);

} // namespace tributary::terminal
