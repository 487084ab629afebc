#include "lib/terminal/descriptor.hpp"

#include "lib/net/file_descriptor.hpp"
#include "lib/terminal/display.hpp"
#include "tests/unit/lib/terminal/pseudo_terminal.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace tributary::terminal {
namespace {

using test::PseudoTerminal;

TEST(a_terminal, is_one_and_has_the_size_it_was_given) {
  const PseudoTerminal terminal;
  EXPECT_TRUE(is_terminal(terminal.descriptor()));
  terminal.resize(132, 43);
  EXPECT_EQ(size_of(terminal.descriptor()).columns, 132U);
  EXPECT_EQ(size_of(terminal.descriptor()).rows, 43U);
}

TEST(a_terminal, gets_colours_unless_they_are_unwanted) {
  const PseudoTerminal terminal;
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(wants_colours(terminal.descriptor()));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_colours(terminal.descriptor()));
  ::unsetenv("NO_COLOR");
}

TEST(a_terminal, that_is_dumb_gets_neither_colours_nor_escape_sequences) {
  const PseudoTerminal terminal;
  const char* const before = std::getenv("TERM");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(is_terminal(terminal.descriptor()));
  EXPECT_FALSE(wants_colours(terminal.descriptor()));
  ::setenv("TERM", "xterm", 1);
  EXPECT_TRUE(is_terminal(terminal.descriptor()));
  before == nullptr ? ::unsetenv("TERM") : ::setenv("TERM", kept.c_str(), 1);
}

TEST(a_file, is_no_terminal_and_counts_as_80_by_24) {
  const net::FileDescriptor file(::open("/dev/null", O_WRONLY));
  EXPECT_FALSE(is_terminal(file.get()));
  EXPECT_FALSE(wants_colours(file.get()));
  EXPECT_EQ(size_of(file.get()).columns, 80U);
  EXPECT_EQ(size_of(file.get()).rows, 24U);
}

TEST(a_display, has_the_width_of_its_terminal_and_files_take_any) {
  ::unsetenv("COLUMNS");
  const PseudoTerminal terminal;
  terminal.resize(132, 43);
  EXPECT_EQ(display_of(terminal.descriptor()).columns, 132U);
  const net::FileDescriptor file(::open("/dev/null", O_WRONLY));
  EXPECT_EQ(display_of(file.get()).columns, any_width);
}

TEST(a_display, obeys_columns_of_the_environment_if_it_is_a_number) {
  const PseudoTerminal terminal;
  terminal.resize(132, 43);
  const net::FileDescriptor file(::open("/dev/null", O_WRONLY));
  ::setenv("COLUMNS", "60", 1);
  EXPECT_EQ(display_of(terminal.descriptor()).columns, 60U);
  EXPECT_EQ(display_of(file.get()).columns, 60U);
  for (const char* const nonsense : {"", "0", "-3", "wide", "80x24"}) {
    ::setenv("COLUMNS", nonsense, 1);
    EXPECT_EQ(display_of(terminal.descriptor()).columns, 132U) << nonsense;
    EXPECT_EQ(display_of(file.get()).columns, any_width) << nonsense;
  }
  ::unsetenv("COLUMNS");
}

} // namespace
} // namespace tributary::terminal
