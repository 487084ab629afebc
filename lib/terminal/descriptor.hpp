// What is at the other end of an open descriptor: a terminal or not, and of what size.
#pragma once

#include <cstddef>

namespace tributary::terminal {

/// One that understands escape sequences: TERM=dumb says that it does not.
[[nodiscard]] bool is_terminal(int descriptor);

/// On a terminal, unless NO_COLOR is set.
[[nodiscard]] bool wants_colours(int descriptor);

struct Size {
  std::size_t columns = 80;
  std::size_t rows = 24;
};
/// 80 by 24 where nobody knows.
[[nodiscard]] Size size_of(int descriptor);

} // namespace tributary::terminal
