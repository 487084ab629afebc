#include "pktgen/scenario/sizes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

namespace tributary::pktgen::traffic {

using scenario::Sizes;

namespace {

TEST(Sizes, are_without_the_fcs_and_in_turn) {
  const Sizes sizes({64, 9000, 128});
  ASSERT_EQ(sizes.count(), 3U);
  EXPECT_EQ(sizes.frame_bytes(0), 60U);
  EXPECT_EQ(sizes.frame_bytes(1), 8996U);
  EXPECT_EQ(sizes.frame_bytes(2), 124U);
  EXPECT_EQ(sizes.longest(), 8996U);
}

TEST(Sizes, imix_is_seven_to_four_to_one_and_spread) {
  const Sizes sizes({0});
  std::map<std::uint32_t, int> seen;
  std::size_t row = 0;
  for (std::size_t i = 0; i < sizes.count(); ++i) {
    ++seen[sizes.frame_bytes(i)];
    row = sizes.frame_bytes(i) == 60 ? row + 1 : 0;
    EXPECT_LE(row, 2U) << "short ones in a row";
  }
  EXPECT_EQ(seen, (std::map<std::uint32_t, int>{{60, 7}, {590, 4}, {1514, 1}}));
}

TEST(Sizes, imix_may_stand_among_others) {
  const Sizes sizes({256, 0});
  EXPECT_EQ(sizes.count(), 13U);
  EXPECT_EQ(sizes.frame_bytes(0), 252U);
}

TEST(Sizes, count_preamble_fcs_and_gap_on_the_wire) {
  EXPECT_EQ(scenario::bits_on_the_wire(60), 84U * 8); // 14.88 million a second on 10 Gb/s
  EXPECT_DOUBLE_EQ(Sizes({64, 128}).mean_bits_on_the_wire(), (84 + 148) * 8 / 2.0);
}

TEST(Sizes, outside_of_the_range_are_refused_with_the_number) {
  EXPECT_THROW(Sizes({}), std::invalid_argument);
  EXPECT_THROW(Sizes({9001}), std::invalid_argument);
  try {
    Sizes({64, 63});
    FAIL() << "63 was taken";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "a frame of 63 bytes: sizes go from 64 to 9000, the FCS included");
  }
}

} // namespace
} // namespace tributary::pktgen::traffic
