// The end of a program whose standard output matters: a failed write, as on a full disk, is an
// error instead of a silent success.
//
//   int main(int argc, char** argv) {
//     return terminal::with_checked_output("tributaryctl", [&] { return run(argc, argv); });
//   }
#pragma once

#include <exception>
#include <string_view>

namespace tributary::terminal {

inline constexpr int exit_output_failed = 1;

/// Prints the message of an uncaught exception to standard error; returns the exit code.
[[nodiscard]] int end_with(std::string_view program, const std::exception& error);

/// `exit_code`, if standard output was written completely. Otherwise prints the reason, and returns
/// `exit_output_failed` in place of success.
[[nodiscard]] int end_with(std::string_view program, int exit_code);

template <typename Run> int with_checked_output(std::string_view program, Run run) {
  try {
    return end_with(program, run());
  } catch (const std::exception& error) {
    return end_with(program, error);
  }
}

} // namespace tributary::terminal
