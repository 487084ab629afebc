#include "dataplane/management/hex.hpp"

#include <gtest/gtest.h>

namespace tributary::management {
namespace {

std::vector<int> bytes_of(std::string_view text) {
  std::string problem;
  std::vector<int> out;
  for (const std::byte b : parse_hex(text, problem)) {
    out.push_back(std::to_integer<int>(b));
  }
  EXPECT_EQ(problem, "") << text;
  return out;
}
std::string problem_of(std::string_view text) {
  std::string problem;
  EXPECT_TRUE(parse_hex(text, problem).empty()) << text;
  return problem;
}

TEST(parse_hex, plain_and_separated) {
  const std::vector<int> expected = {0x45, 0xD0, 0x00, 0x50};
  EXPECT_EQ(bytes_of("45d00050"), expected);
  EXPECT_EQ(bytes_of("45 D0 00 50\n"), expected);
  EXPECT_EQ(bytes_of("45:d0:00:50"), expected);
  EXPECT_EQ(bytes_of("0x45d00050"), expected);
  EXPECT_EQ(bytes_of("0x45 0xd0 0x00 0x50"), expected);
}

TEST(parse_hex, hex_dump_with_offsets) {
  EXPECT_EQ(bytes_of("00: 45 d0\n10: 00 50\n"), (std::vector<int>{0x45, 0xD0, 0x00, 0x50}));
  EXPECT_EQ(bytes_of("0000: 45 d0\n  0010: 00"), (std::vector<int>{0x45, 0xD0, 0x00}));
}

TEST(parse_hex, a_mac_address_at_the_start_is_not_an_offset) {
  EXPECT_EQ(bytes_of("02:fe:00"), (std::vector<int>{0x02, 0xFE, 0x00}));
}

TEST(parse_hex, zero_zero_x_is_not_a_prefix_inside_a_byte) {
  EXPECT_EQ(problem_of("00x"), "'x' at position 3 is not a hex digit");
}

TEST(parse_hex, says_what_is_wrong) {
  EXPECT_EQ(problem_of("45 g0"), "'g' at position 4 is not a hex digit");
  EXPECT_EQ(problem_of("45 d"), "an odd number of hex digits");
  EXPECT_EQ(problem_of(" \n"), "no hex digits");
  EXPECT_EQ(problem_of(""), "no hex digits");
}

} // namespace
} // namespace tributary::management
