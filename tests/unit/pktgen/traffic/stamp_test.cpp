#include "pktgen/traffic/stamp.hpp"

#include "tests/unit/include/wire/seed.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tributary::pktgen::traffic {
namespace {

using Bytes = std::vector<std::byte>;

Stamp some_stamp(Random& random) {
  return {static_cast<std::uint16_t>(random.next()), static_cast<std::uint32_t>(random.next()),
          random.next(), TimeNs{random.next()}};
}
Bytes frame_with(const Stamp& stamp, std::size_t length) {
  Bytes frame(length);
  write_stamp(frame.data(), stamp);
  write_payload(std::span(frame).subspan(stamped_frame_bytes), stamp.flow, stamp.sequence);
  return frame;
}
bool is_right(const Bytes& frame, const Stamp& stamp, PayloadCheck how = PayloadCheck::whole) {
  return payload_is_right(std::span(frame).subspan(stamped_frame_bytes), stamp.flow, stamp.sequence,
                          how);
}

TEST(Stamp, comes_back_as_it_was) {
  Random random(tributary::test::seed());
  for (int i = 0; i < 1'000; ++i) {
    const Stamp stamp = some_stamp(random);
    const Bytes frame = frame_with(stamp, 60);
    Stamp read;
    EXPECT_EQ(read_stamp(frame.data(), 60, read), Stamped::good);
    EXPECT_EQ(read, stamp);
  }
}

TEST(Stamp, lies_where_the_table_says) {
  const Bytes frame =
      frame_with({0x1122, 0x33445566, 0x778899AABBCCDDEE, TimeNs{0x0123456789}}, 60);
  const std::uint8_t expected[] = {0x74, 0x67, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
                                   0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE,
                                   0x00, 0x00, 0x00, 0x01, 0x23, 0x45, 0x67, 0x89};
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(frame[34 + i]), expected[i]) << i;
  }
}

TEST(Stamp, with_any_bit_flipped_is_damaged_or_foreign) {
  Random random(tributary::test::seed());
  for (int i = 0; i < 200; ++i) {
    const Stamp stamp = some_stamp(random);
    Bytes frame = frame_with(stamp, 60);
    for (std::size_t bit = stamp_offset * 8; bit < frame.size() * 8; ++bit) {
      const auto flip = static_cast<std::byte>(1U << bit % 8);
      frame[bit / 8] ^= flip;
      Stamp read;
      EXPECT_EQ(read_stamp(frame.data(), 60, read),
                bit / 8 < stamp_offset + 2 ? Stamped::foreign : Stamped::damaged)
          << "bit " << bit;
      frame[bit / 8] ^= flip;
    }
  }
}

TEST(Stamp, is_not_looked_for_in_a_frame_too_short_for_one) {
  const Bytes frame = frame_with({1, 2, 3, TimeNs{4}}, 60);
  Stamp read;
  EXPECT_EQ(read_stamp(frame.data(), 59, read), Stamped::foreign);
}

TEST(Payload, of_any_length_is_right_until_a_bit_flips) {
  Random random(tributary::test::seed());
  for (std::size_t length = 60; length < 260; ++length) {
    const Stamp stamp = some_stamp(random);
    Bytes frame = frame_with(stamp, length);
    EXPECT_TRUE(is_right(frame, stamp));
    EXPECT_TRUE(is_right(frame, stamp, PayloadCheck::ends));
    for (std::size_t at = stamped_frame_bytes; at < length; ++at) {
      frame[at] ^= std::byte{0x10};
      EXPECT_FALSE(is_right(frame, stamp)) << at << " of " << length;
      frame[at] ^= std::byte{0x10};
    }
  }
}

TEST(Payload, is_looked_at_in_its_first_and_last_32_bytes_when_only_its_ends_are) {
  const Stamp stamp{1, 2, 3, TimeNs{4}};
  for (const std::size_t length : {300U, 301U, 307U, 1514U}) {
    Bytes frame = frame_with(stamp, length);
    for (const std::size_t seen :
         {stamped_frame_bytes, stamped_frame_bytes + 31, length - 32, length - 1}) {
      frame[seen] ^= std::byte{1};
      EXPECT_FALSE(is_right(frame, stamp, PayloadCheck::ends)) << seen << " of " << length;
      frame[seen] ^= std::byte{1};
    }
    frame[length / 2] ^= std::byte{1};
    EXPECT_TRUE(is_right(frame, stamp, PayloadCheck::ends));
    EXPECT_FALSE(is_right(frame, stamp));
  }
}

TEST(Payload, of_another_frame_or_with_words_exchanged_is_wrong) {
  const Stamp stamp{1, 2, 3, TimeNs{4}};
  EXPECT_FALSE(is_right(frame_with({1, 2, 4, TimeNs{4}}, 100), stamp));
  EXPECT_FALSE(is_right(frame_with({1, 3, 3, TimeNs{4}}, 100), stamp));
  Bytes frame = frame_with(stamp, 100);
  std::swap_ranges(frame.begin() + 60, frame.begin() + 68, frame.begin() + 68);
  EXPECT_FALSE(is_right(frame, stamp));
}

} // namespace
} // namespace tributary::pktgen::traffic
