// --help for the terminal at hand: no line is longer than it is wide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tributary::terminal {

/// What CLI11 prints as help, in lines of so many columns. What stands in its right column, from
/// `right` on, stays in there as long as that has room for words.
[[nodiscard]] std::string help_of_width(std::string_view help, std::size_t columns,
                                        std::size_t right);

/// Has `app`, and the commands that are added to it afterwards, print its help so: for a terminal
/// or for COLUMNS; a pipe gets all lines as they are.
void fit_help(CLI::App& app);

} // namespace tributary::terminal
