// MAC addresses, fabric addresses, the header checksum.
#include "tests/unit/include/wire/golden.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace tributary::test {
namespace {

using wire::FabricAddress;
using wire::MacAddress;

TEST(MacAddress, HostAndPortCarryTheNid) {
  EXPECT_EQ(wire::host_mac(Nid{0xABCDE}), (MacAddress{0x02, 0x00, 0x00, 0x0A, 0xBC, 0xDE}));
  EXPECT_EQ(wire::port_mac(Nid{0xABCDE}), (MacAddress{0x02, 0xFE, 0x00, 0x0A, 0xBC, 0xDE}));
}

TEST(MacAddress, NidIsTheLowTwentyBits) {
  EXPECT_EQ(wire::nid_of({0xFF, 0xFF, 0xFF, 0xFA, 0xBC, 0xDE}), Nid{0xABCDE});
  for (std::uint32_t nid = 0; nid <= max_nid; nid += 977) {
    ASSERT_EQ(wire::nid_of(wire::host_mac(Nid{nid})), Nid{nid});
  }
}

TEST(FabricAddress, MulticastRoundTripForEveryTreeAndReduction) {
  for (std::uint16_t tree = 0; tree < max_trees; ++tree) {
    for (std::uint8_t id = 0; id < reductions_per_tree; ++id) {
      const auto a = FabricAddress::multicast(TreeNumber{tree}, ReductionId{id});
      ASSERT_TRUE(a.is_multicast());
      ASSERT_EQ(a.action(), 7U);
      ASSERT_EQ(a.tree(), TreeNumber{tree});
      ASSERT_EQ(a.reduction(), ReductionId{id});
      ASSERT_EQ(a.value & 0x00630000U, 0U) << "the bits of longer ids are 0";
    }
  }
}

TEST(FabricAddress, WorkedExamples) {
  EXPECT_EQ(FabricAddress::multicast(TreeNumber{0xABC}, ReductionId{5}).value, 0xFF9455E7U);
  EXPECT_EQ(FabricAddress::unicast(Nid{0x12345}).value, 0x12345000U);
  EXPECT_EQ(FabricAddress::unicast(Nid{0x12345}, 0xFFFF).value, 0x12345FFFU);
  EXPECT_EQ((FabricAddress{0x12345FFF}).nid(), Nid{0x12345});
}

TEST(FabricAddress, ANidThatLooksLikeAMulticastIsNotValid) {
  EXPECT_TRUE(wire::is_valid_nid(Nid{0xFF7FF}));
  EXPECT_FALSE(wire::is_valid_nid(Nid{0xFF800}));
  EXPECT_FALSE(wire::is_valid_nid(Nid{0xFFFFF}));
  EXPECT_FALSE(wire::is_valid_nid(Nid{0x100000}));
  EXPECT_TRUE(FabricAddress::unicast(Nid{0xFF800}).is_multicast());
  EXPECT_FALSE(FabricAddress::unicast(Nid{0xFF7FF}).is_multicast());
}

/// The checksum as RFC 791 words it: 16 bits at a time, in network order.
std::uint16_t plain_checksum(const std::byte* header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < wire::fabric_header_bytes; i += 2) {
    if (i != wire::portals_offset::checksum) {
      sum += std::to_integer<std::uint32_t>(header[i]) << 8 |
             std::to_integer<std::uint32_t>(header[i + 1]);
    }
  }
  while (sum > 0xFFFF) {
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(~sum);
}

TEST(HeaderChecksum, EqualsThePlainAlgorithmForRandomHeaders) {
  Random random(seed());
  for (int i = 0; i < 100'000; ++i) {
    std::byte header[wire::fabric_header_bytes];
    for (auto& b : header) {
      // Extreme bytes now and then, for long carries.
      b = random() % 4 == 0 ? std::byte{0xFF} : static_cast<std::byte>(random());
    }
    wire::write_fabric_header_checksum(header);
    ASSERT_EQ(wire::load_be<std::uint16_t>(header + wire::portals_offset::checksum),
              plain_checksum(header));
    ASSERT_TRUE(wire::fabric_header_checksum_ok(header));
    header[i % 20] ^= std::byte{0x10};
    ASSERT_FALSE(wire::fabric_header_checksum_ok(header));
  }
}

} // namespace
} // namespace tributary::test
