// The 56-bit contribution signature in the remote offset of the Portals command.
#include "tests/unit/include/wire/golden.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace tributary::test {
namespace {

TEST(Signature, OccupiesBytes22To28BigEndian) {
  Frame frame = encoded(contribution_frame());
  std::byte* const p = packet_of(frame);
  wire::store_signature(p, 0x01020304050607);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(p[22 + i], std::byte(i + 1));
  }
}

TEST(Signature, RoundTripLeavesItsNeighboursAlone) {
  Random random(seed());
  for (int i = 0; i < 10'000; ++i) {
    Frame before;
    for (auto& b : before) {
      b = static_cast<std::byte>(random());
    }
    Frame after = before;
    const std::uint64_t signature = random() & wire::signature_mask;
    wire::store_signature(packet_of(after), signature);
    ASSERT_EQ(wire::signature_of(packet_of(after)), signature);
    for (std::size_t at = 0; at < wire::reduction_packet_bytes; ++at) {
      if (at < 22 || at >= 29) {
        ASSERT_EQ(packet_of(after)[at], packet_of(before)[at]) << "byte " << at;
      }
    }
  }
}

TEST(Signature, StoringMoreThan56BitsKeepsTheLowOnes) {
  Frame frame = encoded(contribution_frame());
  packet_of(frame)[21] = std::byte{0x5A};
  wire::store_signature(packet_of(frame), ~std::uint64_t{0});
  EXPECT_EQ(wire::signature_of(packet_of(frame)), wire::signature_mask);
  EXPECT_EQ(packet_of(frame)[21], std::byte{0x5A});
}

TEST(Signature, IsOutsideTheHeaderChecksum) {
  Frame frame = encoded(contribution_frame());
  wire::store_signature(packet_of(frame), 0xABCDEF);
  EXPECT_TRUE(wire::fabric_header_checksum_ok(packet_of(frame)));
}

} // namespace
} // namespace tributary::test
