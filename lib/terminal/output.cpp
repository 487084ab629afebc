#include "lib/terminal/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include <fmt/format.h>

namespace tributary::terminal {

int end_with(std::string_view program, const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", program, error.what());
  return exit_output_failed;
}

int end_with(std::string_view program, int exit_code) {
  errno = 0;
  const bool is_written = std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_written) {
    return exit_code;
  }
  const int cause = errno;
  fmt::print(stderr, "{}: standard output could not be written{}{}\n", program,
             cause == 0 ? "" : ": ", cause == 0 ? "" : std::strerror(cause));
  return exit_code == 0 ? exit_output_failed : exit_code;
}

} // namespace tributary::terminal
