#include "lib/terminal/units.hpp"

#include <gtest/gtest.h>

namespace tributary::terminal {
namespace {

TEST(duration_text, has_the_unit_that_fits) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(12'340), "12.3 us");
  EXPECT_EQ(duration_text(45'000'000), "45 ms");
  EXPECT_EQ(duration_text(20'211'000'000), "20.2 s");
}

TEST(duration_text, what_rounds_up_to_the_next_unit_bears_it) {
  EXPECT_EQ(duration_text(999'499), "999 us");
  EXPECT_EQ(duration_text(999'500), "1 ms");
  EXPECT_EQ(duration_text(999'499'999), "999 ms");
  EXPECT_EQ(duration_text(999'500'000), "1.0 s");
}

TEST(quantity_text, has_the_prefix_that_fits) {
  EXPECT_EQ(quantity_text(0, "frames/s"), "0 frames/s");
  EXPECT_EQ(quantity_text(0.25, "frames/s"), "0.25 frames/s");
  EXPECT_EQ(quantity_text(950, "bit/s"), "950 bit/s");
  EXPECT_EQ(quantity_text(14'880'952, "frames/s"), "14.88 Mframes/s");
  EXPECT_EQ(quantity_text(1e10, "bit/s"), "10 Gbit/s");
  EXPECT_EQ(quantity_text(2.5e19, "bit/s"), "2.5e+04 Pbit/s");
}

TEST(quantity_text, what_rounds_up_to_the_next_prefix_bears_it) {
  EXPECT_EQ(quantity_text(999.94, "x"), "999.9 x");
  EXPECT_EQ(quantity_text(999.96, "x"), "1 kx");
  EXPECT_EQ(quantity_text(999'960, "x"), "1 Mx");
}

TEST(share_text, distinguishes_very_little_from_nothing) {
  EXPECT_EQ(share_text(0), "0.00 %");
  EXPECT_EQ(share_text(0.0123), "1.23 %");
  EXPECT_EQ(share_text(1), "100.00 %");
  EXPECT_EQ(share_text(1.3e-8), "1.3e-06 %");
}

} // namespace
} // namespace tributary::terminal
