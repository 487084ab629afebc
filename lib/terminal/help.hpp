// --help for the current terminal: no line is longer than its width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tributary::terminal {

/// CLI11's help text, in lines of at most `columns`. Text in its right column, from `right` on,
/// stays there as long as that has room for words.
[[nodiscard]] std::string help_of_width(std::string_view help, std::size_t columns,
                                        std::size_t right);

/// Makes `app`, and commands added to it afterwards, print its help like this: for a terminal or
/// for COLUMNS; a pipe gets all lines unchanged. Each option shows the name of its value, its help,
/// and in brackets what else there is to know: [1 to 64; default: 8].
void fit_help(CLI::App& app);

} // namespace tributary::terminal
