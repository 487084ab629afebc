// The key and the table, against Toeplitz' hash as NICs compute it.
#include "dataplane/placement/buckets.hpp"
#include "dataplane/placement/tree_hash.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace tributary::placement::test {
namespace {

/// Toeplitz' hash of an IPv4 frame's addresses, bit by bit, as Microsoft's RSS specifies it.
std::uint32_t toeplitz(std::span<const std::uint8_t> key, std::uint32_t source,
                       std::uint32_t destination) {
  const std::uint64_t input = std::uint64_t{source} << 32 | destination;
  const auto key_bit = [&](unsigned at) {
    return at / 8 < key.size() ? key[at / 8] >> (7 - at % 8) & 1U : 0U;
  };
  std::uint32_t hash = 0;
  for (unsigned i = 0; i < 64; ++i) {
    if ((input >> (63 - i) & 1U) != 0) {
      for (unsigned b = 0; b < 32; ++b) {
        hash ^= key_bit(i + b) << (31 - b);
      }
    }
  }
  return hash;
}

TEST(TreeHash, is_toeplitz_as_published) {
  // From Microsoft's "Verifying the RSS hash calculation": 66.9.149.187 to 161.142.100.80.
  constexpr std::uint8_t key[] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                  0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                  0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                  0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
  EXPECT_EQ(toeplitz(key, 0x420995BB, 0xA18E6450), 0x323E8FC2U);
}

/// Every reduction of a tree, from every leaf, has the index of its bucket, whatever the table's
/// size.
TEST(TreeHash, brings_all_frames_of_a_tree_to_the_entry_of_its_bucket) {
  Random random(1);
  for (const std::size_t key_bytes : {fewest_key_bytes, std::size_t{40}, std::size_t{52}}) {
    const std::vector<std::uint8_t> key = tree_hash_key(key_bytes);
    for (std::uint16_t t = 0; t < max_trees; t = static_cast<std::uint16_t>(t + 1)) {
      const TreeNumber tree{t};
      const ReductionId id{static_cast<std::uint8_t>(random.next() % most_reductions_per_tree)};
      const std::uint32_t hash = toeplitz(key, static_cast<std::uint32_t>(random.next()),
                                          wire::FabricAddress::multicast(tree, id).value);
      for (const std::size_t entries : {128U, 512U, 2048U}) {
        ASSERT_EQ(bucket_of_entry(hash % entries), bucket_of(tree)) << t << " of " << entries;
      }
    }
  }
}

TEST(TreeHash, has_an_entry_for_each_bucket) {
  std::set<Bucket> reached;
  for (std::size_t i = 0; i < fewest_table_entries; ++i) {
    reached.insert(bucket_of_entry(i));
  }
  EXPECT_EQ(reached.size(), bucket_count);
}

TEST(AddressMatch, is_of_the_trees_of_its_bucket_and_of_no_unicast) {
  Random random(2);
  for_each_bucket([&](Bucket b) {
    const AddressMatch match = match_of(b);
    EXPECT_EQ(match.mask, match_of(Bucket{0}).mask);
    for (std::uint16_t t = 0; t < max_trees; t = static_cast<std::uint16_t>(t + 1)) {
      const ReductionId id{static_cast<std::uint8_t>(random.next() % most_reductions_per_tree)};
      ASSERT_EQ(match.matches(wire::FabricAddress::multicast(TreeNumber{t}, id)),
                bucket_of(TreeNumber{t}) == b)
          << t;
    }
    for (int i = 0; i < 100; ++i) {
      const Nid nid{static_cast<std::uint32_t>(random.next() & max_nid)};
      const auto endpoint = static_cast<std::uint16_t>(random.next() & 0xFFFU);
      ASSERT_FALSE(wire::is_valid_nid(nid) &&
                   match.matches(wire::FabricAddress::unicast(nid, endpoint)));
    }
  });
}

} // namespace
} // namespace tributary::placement::test
