// The quantities of types.hpp.
#include "tributary/types.hpp"

#include "tributary/wire/byte_order.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace tributary::test {
namespace {

TEST(SequenceNumber, IsModulo1024) {
  EXPECT_EQ(SequenceNumber{1024}, SequenceNumber{0});
  EXPECT_EQ(SequenceNumber{1023}.value(), 1023);
  EXPECT_EQ(SequenceNumber{1023 + 5}.value(), 4);
}

TEST(SequenceNumber, DistanceTellsMatchNewerAndOlderForEveryPair) {
  for (std::uint32_t from = 0; from < 1024; ++from) {
    for (std::uint32_t d = 0; d < 1024; ++d) {
      const SequenceNumber a{from};
      const SequenceNumber b{from + d};
      ASSERT_EQ(b.distance(a), d);
      ASSERT_EQ(b == a, d == 0);
      ASSERT_EQ(b.newer_than(a), d >= 1 && d <= 511);
      ASSERT_EQ(b.older_than(a), d >= 512);
    }
  }
}

TEST(SequenceNumber, WrapsFromTheTopToTheBottom) {
  EXPECT_TRUE(SequenceNumber{0}.newer_than(SequenceNumber{1021}));
  EXPECT_TRUE(SequenceNumber{1021}.older_than(SequenceNumber{0}));
}

TEST(PortSet, HoldsWhatWasInsertedAndNothingElse) {
  PortSet set;
  EXPECT_TRUE(set.empty());
  set.insert(PortNumber{0});
  set.insert(PortNumber{63});
  set.insert(PortNumber{63});
  EXPECT_EQ(set.size(), 2);
  EXPECT_TRUE(set.contains(PortNumber{0}));
  EXPECT_TRUE(set.contains(PortNumber{63}));
  EXPECT_FALSE(set.contains(PortNumber{1}));
  EXPECT_FALSE(set.contains(no_port));
  EXPECT_FALSE(set.contains(PortNumber{64})) << "64 is not port 0";
  set.erase(PortNumber{0});
  EXPECT_EQ(set, PortSet(std::uint64_t{1} << 63));
}

TEST(PortSet, ForEachVisitsAscending) {
  const PortSet set(0x8000'0000'0001'0005);
  std::vector<int> visited;
  set.for_each([&](PortNumber p) { visited.push_back(p.value); });
  EXPECT_EQ(visited, (std::vector<int>{0, 2, 16, 63}));
}

TEST(PortSet, FirstCountsFromZero) {
  EXPECT_TRUE(PortSet::first(0).empty());
  EXPECT_EQ(PortSet::first(3).bits(), 7U);
  EXPECT_EQ(PortSet::first(64).bits(), ~std::uint64_t{0});
  EXPECT_EQ(PortSet::first(65).bits(), ~std::uint64_t{0});
}

TEST(ReductionKey, IsDenseAndInvertible) {
  std::vector<bool> seen(all_reduction_keys);
  for (std::uint16_t tree = 0; tree < max_trees; ++tree) {
    for (std::uint8_t id = 0; id < most_reductions_per_tree; ++id) {
      const ReductionKey key(TreeNumber{tree}, ReductionId{id});
      ASSERT_EQ(key.tree(), TreeNumber{tree});
      ASSERT_EQ(key.reduction(), ReductionId{id});
      ASSERT_LT(key.index(), all_reduction_keys);
      ASSERT_EQ(key.index() < reduction_keys, id < reductions_per_tree);
      ASSERT_FALSE(seen[key.index()]);
      seen[key.index()] = true;
      ASSERT_EQ(ReductionKey::from_index(key.index()), key);
    }
  }
}

TEST(ReductionKey, OfATreeWithEightIdsIsWhatItWasBefore) {
  EXPECT_EQ(ReductionKey(TreeNumber{0}, ReductionId{0}).index(), 0U);
  EXPECT_EQ(ReductionKey(TreeNumber{3}, ReductionId{5}).index(), 29U);
  EXPECT_EQ(ReductionKey(TreeNumber{8191}, ReductionId{7}).index(), 65'535U);
  EXPECT_EQ(ReductionKey(TreeNumber{0}, ReductionId{8}).index(), 65'536U);
  EXPECT_EQ(ReductionKey(TreeNumber{8191}, ReductionId{127}).index(), (1U << 20) - 1);
}

TEST(TimeNs, ElapsedNeverGoesBelowZero) {
  EXPECT_EQ(elapsed_ns(TimeNs{30}, TimeNs{10}), 20U);
  EXPECT_EQ(elapsed_ns(TimeNs{10}, TimeNs{30}), 0U);
  EXPECT_EQ(TimeNs{10} + 5, TimeNs{15});
  EXPECT_LT(TimeNs{~std::uint64_t{0} - 1}, never);
}

TEST(ByteOrder, LoadsAndStoresAtAnyAlignment) {
  std::byte buffer[16]{};
  for (std::size_t at = 0; at < 8; ++at) {
    wire::store_be<std::uint64_t>(buffer + at, 0x0102030405060708);
    EXPECT_EQ(buffer[at], std::byte{1});
    EXPECT_EQ(buffer[at + 7], std::byte{8});
    EXPECT_EQ(wire::load_be<std::uint64_t>(buffer + at), 0x0102030405060708U);
    EXPECT_EQ(wire::load_le<std::uint64_t>(buffer + at), 0x0807060504030201U);
    EXPECT_EQ(wire::load_be<std::uint16_t>(buffer + at), 0x0102U);
    EXPECT_EQ(wire::load_le<std::uint32_t>(buffer + at), 0x04030201U);
    wire::store_le<std::uint32_t>(buffer + at, 0xA1A2A3A4);
    EXPECT_EQ(buffer[at], std::byte{0xA4});
  }
}

} // namespace
} // namespace tributary::test
