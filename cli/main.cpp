// tributaryctl: one command line, one request, one answer.

#include "cli/commands.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace tributary::cli;
  const ParsedCommand parsed = parse_command_line(argc, argv);
  if (parsed.exit_code) {
    return *parsed.exit_code;
  }
  try {
    return run_command(parsed.command);
  } catch (const std::exception& e) {
    fmt::print(stderr, "tributaryctl: {}\n", e.what());
    return exit_failure;
  }
}
