#include "tools/simulator/engine/bits.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tributary::simulator::engine {
namespace {

TEST(bits, a_row_of_bits_goes_on_in_the_next_word) {
  for (std::size_t from = 0; from <= 64; ++from) {
    for (const std::size_t count : {1U, 3U, 8U, 64U}) {
      std::array<std::uint64_t, 3> words{};
      set_bits(words.data(), from, count);
      for (std::size_t i = 0; i < 192; ++i) {
        ASSERT_EQ(has_bit(words.data(), i), i >= from && i < from + count) << from << ' ' << i;
      }
      words.fill(~std::uint64_t{0});
      clear_bits(words.data(), from, count);
      for (std::size_t i = 0; i < 192; ++i) {
        ASSERT_EQ(has_bit(words.data(), i), i < from || i >= from + count) << from << ' ' << i;
      }
    }
  }
}

TEST(bits, the_nth_is_counted_from_the_lowest) {
  EXPECT_EQ(nth_bit(0b1011'0100, 0), 2U);
  EXPECT_EQ(nth_bit(0b1011'0100, 2), 5U);
  EXPECT_EQ(nth_bit(std::uint64_t{1} << 63, 0), 63U);
}

} // namespace
} // namespace tributary::simulator::engine
