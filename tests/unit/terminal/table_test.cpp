#include "terminal/table.hpp"

#include <gtest/gtest.h>

namespace tributary::terminal {
namespace {

TEST(table, columns_are_as_wide_as_their_widest_cell) {
  Table table({{"PORT"}, {"FRAMES", Align::right}, {"STATE"}});
  table.add({{"host0"}, {"7"}, {"up"}});
  table.add({{"p"}, {"12345678"}, {"down"}});
  EXPECT_EQ(table.text(false), "PORT     FRAMES  STATE\n"
                               "host0         7  up\n"
                               "p      12345678  down\n");
}

TEST(table, no_line_ends_with_blanks) {
  Table table({{"A"}, {"LONG TITLE"}, {"C", Align::right}});
  table.add({{"x"}, {""}, {""}});
  table.add({{"x"}, {""}, {"1"}});
  EXPECT_EQ(table.text(false), "A  LONG TITLE  C\n"
                               "x\n"
                               "x              1\n");
}

TEST(table, width_is_counted_in_characters) {
  Table table({{"A"}, {"B"}});
  table.add({{"\xC3\xBC\xC3\xBC"}, {"x"}});
  table.add({{"uuu"}, {"x"}});
  EXPECT_EQ(table.text(false), "A    B\n"
                               "\xC3\xBC\xC3\xBC   x\n"
                               "uuu  x\n");
}

TEST(table, colours_do_not_move_columns) {
  Table plain({{"A"}, {"B"}});
  plain.add({{"up", Style::good}, {"x"}});
  EXPECT_EQ(plain.text(false).find('\033'), std::string::npos);
  EXPECT_EQ(plain.text(true), "\033[1mA\033[0m   \033[1mB\033[0m\n"
                              "\033[32mup\033[0m  x\n");
}

TEST(styled, empty_text_and_plain_style_stay_bare) {
  EXPECT_EQ(styled("", Style::bad, true), "");
  EXPECT_EQ(styled("x", Style::plain, true), "x");
  EXPECT_EQ(styled("x", Style::bad, false), "x");
  EXPECT_EQ(styled("x", Style::bad, true), "\033[31mx\033[0m");
}

} // namespace
} // namespace tributary::terminal
