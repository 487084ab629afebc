#include "lib/terminal/width.hpp"

#include <gtest/gtest.h>

namespace tributary::terminal {
namespace {

TEST(width_of, counts_characters_not_bytes) {
  EXPECT_EQ(width_of(""), 0U);
  EXPECT_EQ(width_of("abc"), 3U);
  EXPECT_EQ(width_of("\u00FC\u2588x"), 3U);
}

TEST(width_of, is_two_for_east_asian_characters_and_none_for_accents_that_combine) {
  EXPECT_EQ(width_of("\u4EA4\u6362\u673A"), 6U);
  EXPECT_EQ(width_of("\uD55C"), 2U);
  EXPECT_EQ(width_of("e\u0301"), 1U);
  EXPECT_EQ(width_of("\U0001F40B"), 2U);
}

TEST(width_of, takes_bytes_that_are_no_text) {
  EXPECT_EQ(width_of("\xFF\xFE"), 2U);
  EXPECT_EQ(width_of("a\xE4"), 2U);
}

TEST(cut_to, does_not_cut_a_wide_character_in_two) {
  EXPECT_EQ(cut_to("\u4EA4\u6362", 3), "\u4EA4");
  EXPECT_EQ(cut_to("\u4EA4\u6362", 1), "");
}

TEST(shortened, ends_with_an_ellipsis_where_something_is_missing) {
  EXPECT_EQ(shortened("leaf0", 5), "leaf0");
  EXPECT_EQ(shortened("leaf01", 5), "leaf\u2026");
  EXPECT_EQ(shortened("\u4EA4\u6362\u673A", 4), "\u4EA4\u2026");
  EXPECT_EQ(shortened("x", 0), "");
}

TEST(cut_to, keeps_whole_characters) {
  EXPECT_EQ(cut_to("\u00FC\u2588x", 2), "\u00FC\u2588");
  EXPECT_EQ(cut_to("\u00FC\u2588x", 3), "\u00FC\u2588x");
  EXPECT_EQ(cut_to("\u00FC\u2588x", 0), "");
  EXPECT_EQ(cut_to("abc", 10), "abc");
}

TEST(padded, fills_up_and_never_cuts) {
  EXPECT_EQ(padded("\u00FC", 3), "\u00FC  ");
  EXPECT_EQ(padded("abcd", 3), "abcd");
}

} // namespace
} // namespace tributary::terminal
