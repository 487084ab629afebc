// The terminal and whoever sits at it: colours, screens that are shown again, Ctrl-C.
#pragma once

#include "lib/terminal/display.hpp"

#include <functional>
#include <string>

namespace tributary::cli {

/// Of standard output.
[[nodiscard]] terminal::Display own_display();
/// A view in lines that standard output has room for.
[[nodiscard]] std::string fitted(const std::string& view);

/// From now on Ctrl-C and SIGTERM set a mark, `interrupted`; a second one ends the program.
void catch_interrupts();
[[nodiscard]] bool interrupted();

void sleep_until_interrupted(double seconds);

/// Prints what `show` makes, every so many seconds, until interrupted or, on a terminal, until `q`
/// is pressed; another key shows it anew at once. `clear`: on a terminal, each in the place of the
/// one before.
void watch(double seconds, bool clear, const std::function<std::string()>& show);

/// Ends the `watch` that is showing, after what it shows.
void stop_watching();

} // namespace tributary::cli
