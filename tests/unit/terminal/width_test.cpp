#include "terminal/width.hpp"

#include <gtest/gtest.h>

namespace tributary::terminal {
namespace {

TEST(width_of, counts_characters_not_bytes) {
  EXPECT_EQ(width_of(""), 0U);
  EXPECT_EQ(width_of("abc"), 3U);
  EXPECT_EQ(width_of("\u00FC\u2588x"), 3U);
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
