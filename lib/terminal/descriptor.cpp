#include "lib/terminal/descriptor.hpp"

#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tributary::terminal {

bool is_terminal(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool wants_colours(int descriptor) {
  return is_terminal(descriptor) && std::getenv("NO_COLOR") == nullptr;
}

Size size_of(int descriptor) {
  winsize answer{};
  if (::ioctl(descriptor, TIOCGWINSZ, &answer) != 0 || answer.ws_col == 0 || answer.ws_row == 0) {
    return {};
  }
  return {answer.ws_col, answer.ws_row};
}

} // namespace tributary::terminal
