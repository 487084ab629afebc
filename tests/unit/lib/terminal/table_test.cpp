#include "lib/terminal/table.hpp"

#include "lib/terminal/width.hpp"

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

/// The columns of a switch's ports: which may be omitted, which shortened, which stay.
Table ports() {
  Table table({{"SWITCH"},
               {"PORT"},
               {"DEVICE", Align::left, 2},
               {"NID", Align::left, 1},
               {"FRAMES", Align::right},
               {"DROPS", Align::left, 0, 10},
               {"REMARK", Align::left, 1}});
  table.add({{"leaf0"},
             {"host0"},
             {"net_af_xdp_eth0"},
             {"0x00001"},
             {"123456789"},
             {"no_route 17, runt 4"},
             {""}});
  table.add({{"leaf0"}, {"up"}, {"net_null0"}, {"0x00002"}, {"5"}, {""}, {""}});
  return table;
}

TEST(a_table, that_fits_is_as_it_is_on_any_display) {
  const std::string all = ports().text(false);
  EXPECT_EQ(ports().text({false, 200}), all);
  EXPECT_EQ(all.find("columns:"), std::string::npos);
}

TEST(a_table, leaves_out_what_is_empty_first) {
  EXPECT_EQ(ports().text({false, 75}),
            "SWITCH  PORT   DEVICE           NID         FRAMES  DROPS\n"
            "leaf0   host0  net_af_xdp_eth0  0x00001  123456789  no_route 17, runt 4\n"
            "leaf0   up     net_null0        0x00002          5\n"
            "(75 columns: empty REMARK; a pipe or COLUMNS=200 has all)\n");
}

TEST(a_table, then_shortens_what_may_be_by_as_little_as_is_enough) {
  EXPECT_EQ(ports().text({false, 68}),
            "SWITCH  PORT   DEVICE           NID         FRAMES  DROPS\n"
            "leaf0   host0  net_af_xdp_eth0  0x00001  123456789  no_route 17, ru\u2026\n"
            "leaf0   up     net_null0        0x00002          5\n"
            "(68 columns: shortened DROPS; empty REMARK; a pipe or COLUMNS=200\n"
            "  has all)\n");
}

TEST(a_table, then_leaves_out_columns_in_the_order_of_their_numbers) {
  EXPECT_EQ(ports().text({false, 54}), "SWITCH  PORT   NID         FRAMES  DROPS\n"
                                       "leaf0   host0  0x00001  123456789  no_route 17, runt 4\n"
                                       "leaf0   up     0x00002          5\n"
                                       "(54 columns: left out DEVICE; empty REMARK; a pipe or\n"
                                       "  COLUMNS=200 has all)\n");
  EXPECT_EQ(ports().text({false, 40}), "SWITCH  PORT      FRAMES  DROPS\n"
                                       "leaf0   host0  123456789  no_route 17, \u2026\n"
                                       "leaf0   up             5\n"
                                       "(40 columns: left out DEVICE, NID;\n"
                                       "  shortened DROPS; empty REMARK; a pipe\n"
                                       "  or COLUMNS=200 has all)\n");
}

TEST(a_table, becomes_a_block_for_each_row_where_nothing_else_helps) {
  EXPECT_EQ(ports().text({false, 30}), "SWITCH  leaf0\n"
                                       "PORT    host0\n"
                                       "DEVICE  net_af_xdp_eth0\n"
                                       "NID     0x00001\n"
                                       "FRAMES  123456789\n"
                                       "DROPS   no_route 17, runt 4\n"
                                       "\n"
                                       "SWITCH  leaf0\n"
                                       "PORT    up\n"
                                       "DEVICE  net_null0\n"
                                       "NID     0x00002\n"
                                       "FRAMES  5\n"
                                       "(30 columns: a block for each\n"
                                       "  row; a pipe or COLUMNS=200\n"
                                       "  has all)\n");
}

TEST(a_table, keeps_east_asian_names_in_their_columns) {
  Table table({{"SWITCH", Align::left, 0, 6}, {"FRAMES", Align::right}});
  table.add({{"\u4EA4\u6362\u673A\u4E00\u53F7"}, {"7"}});
  table.add({{"leaf0"}, {"12345"}});
  EXPECT_EQ(table.text(false), "SWITCH      FRAMES\n"
                               "\u4EA4\u6362\u673A\u4E00\u53F7       7\n"
                               "leaf0        12345\n");
  Table narrow(
      {{"SWITCH", Align::left, 0, 6}, {"PORT", Align::left, 0, 6}, {"FRAMES", Align::right}});
  narrow.add({{"\u4EA4\u6362\u673A\u4E00\u53F7"}, {"\u7AEF\u53E3"}, {"7"}});
  EXPECT_EQ(narrow.text({false, 20}), "SWITCH  PORT  FRAMES\n"
                                      "\u4EA4\u6362\u2026   \u7AEF\u53E3       7\n"
                                      "(20 columns:\n"
                                      "  shortened SWITCH;\n"
                                      "  a pipe or\n"
                                      "  COLUMNS=200 has\n"
                                      "  all)\n");
}

TEST(a_table, has_no_line_longer_than_its_display_at_any_width) {
  for (std::size_t columns = 20; columns < 120; ++columns) {
    const std::string text = ports().text({false, columns});
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(width_of(text.substr(at, end - at)), columns) << text;
      at = end + 1;
    }
  }
}

TEST(styled, empty_text_and_plain_style_stay_bare) {
  EXPECT_EQ(styled("", Style::bad, true), "");
  EXPECT_EQ(styled("x", Style::plain, true), "x");
  EXPECT_EQ(styled("x", Style::bad, false), "x");
  EXPECT_EQ(styled("x", Style::bad, true), "\033[31mx\033[0m");
}

} // namespace
} // namespace tributary::terminal
