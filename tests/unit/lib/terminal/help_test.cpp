#include "lib/terminal/help.hpp"

#include <gtest/gtest.h>

namespace tributary::terminal {
namespace {

constexpr std::string_view help = "Options:\n"
                                  "  --name WORD   The name of it, told at length\n"
                                  "  --longer-name WORD\n"
                                  "                Another one, at length as well\n"
                                  "Examples:\n"
                                  "  program --name one --longer-name another --more\n";
constexpr std::size_t right = 16;

TEST(help_of_width, keeps_descriptions_in_their_column) {
  EXPECT_EQ(help_of_width(help, 40, right), "Options:\n"
                                            "  --name WORD   The name of it, told at\n"
                                            "                length\n"
                                            "  --longer-name WORD\n"
                                            "                Another one, at length\n"
                                            "                as well\n"
                                            "Examples:\n"
                                            "  program --name one --longer-name\n"
                                            "    another --more\n");
}

TEST(help_of_width, gives_the_column_up_where_it_has_no_room_for_words) {
  const std::string narrow = help_of_width(help, 30, right);
  EXPECT_NE(narrow.find("  --name WORD   The name of\n    it, told at length\n"), std::string::npos)
      << narrow;
}

TEST(help_of_width, leaves_lines_that_fit) {
  EXPECT_EQ(help_of_width(help, 200, right), help);
  EXPECT_EQ(help_of_width("", 80, right), "");
}

} // namespace
} // namespace tributary::terminal
