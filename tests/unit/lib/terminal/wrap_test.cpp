#include "lib/terminal/wrap.hpp"

#include <gtest/gtest.h>

namespace tributary::terminal {
namespace {

using Lines = std::vector<std::string>;

TEST(broken, at_blanks_and_the_first_line_may_be_of_another_length) {
  EXPECT_EQ(broken("one two three four", 7, 10), (Lines{"one two", "three four"}));
  EXPECT_EQ(broken("short", 7, 10), Lines{"short"});
  EXPECT_EQ(broken("", 7, 10), Lines{""});
}

TEST(broken, within_a_word_that_is_longer_than_a_line) {
  EXPECT_EQ(broken("abcdefghij k", 4, 4), (Lines{"abcd", "efgh", "ij k"}));
  EXPECT_EQ(broken("a bcdefghi", 4, 4), (Lines{"a", "bcde", "fghi"}));
}

TEST(broken, never_a_character_in_two) {
  EXPECT_EQ(broken("\u4EA4\u6362\u673A", 4, 4), (Lines{"\u4EA4\u6362", "\u673A"}));
  EXPECT_EQ(broken("\u4EA4\u6362", 1, 1), (Lines{"\u4EA4", "\u6362"})) << "it has to go somewhere";
}

TEST(wrapped, leaves_lines_that_fit_and_indents_what_follows) {
  EXPECT_EQ(wrapped("A   B\nx   y\n", 10), "A   B\nx   y\n");
  EXPECT_EQ(wrapped("  refused last: no path\n", 17), "  refused last:\n    no path\n");
  EXPECT_EQ(wrapped("no end of line", 8), "no end\n  of\n  line");
}

TEST(wrapped, counts_no_room_for_colours) {
  EXPECT_EQ(wrapped("\033[31mproblem:\033[0m a link\n", 16), "\033[31mproblem:\033[0m a link\n");
}

} // namespace
} // namespace tributary::terminal
