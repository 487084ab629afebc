#include "lib/terminal/display.hpp"

#include "lib/terminal/descriptor.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace tributary::terminal {

Display display_of(int descriptor) {
  const bool colours = wants_colours(descriptor);
  if (const char* const set = std::getenv("COLUMNS"); set != nullptr) {
    const std::string_view text(set);
    std::size_t columns = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (error == std::errc() && end == text.data() + text.size() && columns != 0) {
      return {colours, columns};
    }
  }
  return {colours, ::isatty(descriptor) == 1 ? size_of(descriptor).columns : any_width};
}

} // namespace tributary::terminal
