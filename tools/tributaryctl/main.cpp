// tributaryctl: one command line, one request, one answer.

#include "lib/terminal/output.hpp"
#include "tools/tributaryctl/commands.hpp"

int main(int argc, char** argv) {
  using namespace tributary::cli;
  return tributary::terminal::with_checked_output("tributaryctl", [&] {
    const ParsedCommand parsed = parse_command_line(argc, argv);
    return parsed.exit_code ? *parsed.exit_code : run_command(parsed.command);
  });
}
