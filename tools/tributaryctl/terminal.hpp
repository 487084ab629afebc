// The terminal and its user: colours, screens that are updated, Ctrl-C.
#pragma once

#include "lib/terminal/display.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace tributary::cli {

/// The display of standard output.
[[nodiscard]] terminal::Display own_display();
/// The view, cut to the size of standard output.
[[nodiscard]] std::string fitted(const std::string& view);

/// From now on Ctrl-C and SIGTERM set the flag `interrupted`; a second one ends the program.
void catch_interrupts();
[[nodiscard]] bool interrupted();

void sleep_until_interrupted(std::chrono::nanoseconds duration);

/// Prints what `show` returns, at this interval, until interrupted or, on a terminal, until
/// `q` is pressed; another key updates it immediately. `clear`: on a terminal, each in place of the
/// previous one.
void watch(std::chrono::nanoseconds interval, bool clear, const std::function<std::string()>& show);

/// Ends the running `watch`, after its current output.
void stop_watching();

} // namespace tributary::cli
