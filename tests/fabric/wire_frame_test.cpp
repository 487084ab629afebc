#include "tests/fabric/wire_frame.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace tributary::fabric {
namespace {

WireFrame some_frame(std::size_t length) {
  Random random(length);
  std::vector<std::byte> bytes(length);
  for (auto& b : bytes) {
    b = static_cast<std::byte>(random.next());
  }
  WireFrame frame;
  frame.assign(bytes);
  frame.append_fcs();
  return frame;
}

TEST(WireFrame, fcs_is_the_crc_32_of_ethernet) {
  constexpr std::string_view check = "123456789";
  EXPECT_EQ(frame_check_sequence(std::as_bytes(std::span(check))), 0xCBF43926U);
}

TEST(WireFrame, fcs_finds_every_single_changed_bit) {
  WireFrame frame = some_frame(94);
  ASSERT_TRUE(frame.fcs_ok());
  for (std::size_t bit = 0; bit < 8 * frame.wire_bytes().size(); ++bit) {
    flip_bit(frame.wire_bytes(), bit);
    ASSERT_FALSE(frame.fcs_ok()) << "bit " << bit;
    flip_bit(frame.wire_bytes(), bit);
  }
  EXPECT_TRUE(frame.fcs_ok());
}

TEST(WireFrame, fcs_finds_two_and_three_changed_bits) {
  Random random(9);
  for (int i = 0; i < 20'000; ++i) {
    WireFrame frame = some_frame(94);
    const std::size_t third = 8 * frame.wire_bytes().size() / 3;
    for (std::size_t n = 0; n < 2 + static_cast<std::size_t>(i % 2); ++n) {
      flip_bit(frame.wire_bytes(), n * third + random.below(third));
    }
    ASSERT_FALSE(frame.fcs_ok());
  }
}

TEST(FramePool, copies_a_frame_with_its_fcs_and_takes_back_what_is_released) {
  FramePool pool;
  const FrameIndex one = pool.take(some_frame(60).bytes());
  pool[one].append_fcs();
  pool[one].header_damaged = true;
  const FrameIndex two = pool.copy(one);
  EXPECT_NE(one, two);
  EXPECT_TRUE(pool[two].fcs_ok());
  EXPECT_TRUE(pool[two].header_damaged);
  EXPECT_EQ(pool.in_use(), 2U);
  pool.release(one);
  EXPECT_EQ(pool.in_use(), 1U);
  EXPECT_EQ(pool.take(some_frame(60).bytes()), one);
  EXPECT_FALSE(pool[one].header_damaged);
}

} // namespace
} // namespace tributary::fabric
