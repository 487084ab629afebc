#include "endpoint/contexts/ranges.hpp"

#include <gtest/gtest.h>

#include <bitset>

namespace tributary::test {
namespace {

using contexts::IdRange;
using contexts::Partition;
using contexts::PartMask;
using contexts::RangeSize;

constexpr std::array<std::uint32_t, 5> all_slots{8, 16, 32, 64, 128};

constexpr std::uint32_t how_many(std::uint32_t slots, RangeSize size) {
  const Partition partition(slots);
  PartMask free = partition.whole();
  std::uint32_t count = 0;
  while (const auto range = partition.first(size, free)) {
    free &= ~*range;
    ++count;
  }
  return count;
}

// The table at the head of ranges.hpp.
static_assert(how_many(8, RangeSize::full) == 5);
static_assert(how_many(16, RangeSize::full) == 2);
static_assert(how_many(32, RangeSize::full) == 3);
static_assert(how_many(64, RangeSize::full) == 5);
static_assert(how_many(128, RangeSize::full) == 9);
static_assert(1 + how_many(128, RangeSize::two) == 33 && 1 + how_many(16, RangeSize::two) == 5);
static_assert(how_many(128, RangeSize::four) == 16 && how_many(8, RangeSize::two) == 0);
static_assert(Partition::is_possible(8) && Partition::is_possible(128));
static_assert(!Partition::is_possible(0) && !Partition::is_possible(4) &&
              !Partition::is_possible(24) && !Partition::is_possible(256));

TEST(Partition, gives_each_id_of_a_tree_once_whatever_the_sizes) {
  for (const std::uint32_t slots : all_slots) {
    const Partition partition(slots);
    for (const RangeSize small : {RangeSize::full, RangeSize::four, RangeSize::two}) {
      std::bitset<128> given;
      PartMask free = partition.whole();
      const auto give = [&](RangeSize size) {
        const auto range = partition.first(size, free);
        if (!range) {
          return false;
        }
        EXPECT_EQ(*range & ~free, 0U);
        free &= ~*range;
        const IdRange ids = partition.ids_of(*range);
        EXPECT_EQ(partition.parts_of(ids), *range) << slots << ": " << +ids.first.value;
        for (unsigned id = ids.first.value; id < ids.first.value + ids.count; ++id) {
          EXPECT_LT(id, slots);
          EXPECT_FALSE(given[id]) << "id " << id << " of " << slots;
          given[id] = true;
        }
        return true;
      };
      while (give(small)) {
      }
      while (give(RangeSize::full)) {
      }
      EXPECT_EQ(given.count(), slots);
      EXPECT_EQ(free, 0U);
    }
  }
}

TEST(Partition, the_first_context_gets_the_half_and_one_of_short_calls_gets_it_last) {
  const Partition partition(128);
  EXPECT_EQ(partition.ids_of(*partition.first(RangeSize::full, partition.whole())),
            (IdRange{ReductionId{0}, 64}));
  EXPECT_EQ(partition.ids_of(*partition.first(RangeSize::full, partition.whole(), true)),
            (IdRange{ReductionId{64}, 8}));
  EXPECT_EQ(partition.first(RangeSize::full, Partition::half, true), Partition::half);
}

TEST(Partition, a_full_range_of_which_two_ids_are_used_is_given_to_short_calls_only) {
  const Partition partition(128);
  const PartMask used = partition.parts_of({ReductionId{64}, 2});
  const PartMask free = partition.parts_of({ReductionId{64}, 8}) & ~used;
  EXPECT_EQ(partition.first(RangeSize::full, free), std::nullopt);
  EXPECT_EQ(partition.ids_of(*partition.first(RangeSize::four, free)),
            (IdRange{ReductionId{68}, 4}));
  EXPECT_EQ(partition.ids_of(*partition.first(RangeSize::two, free)),
            (IdRange{ReductionId{66}, 2}));
}

TEST(Partition, eager_parts_and_reserve_are_the_whole_and_both_hold_something) {
  for (const std::uint32_t slots : all_slots) {
    const Partition partition(slots);
    EXPECT_EQ(partition.eager() | partition.reserve(), partition.whole());
    EXPECT_EQ(partition.eager() & partition.reserve(), 0U);
    EXPECT_TRUE(partition.first(RangeSize::full, partition.eager()));
    EXPECT_TRUE(partition.first(RangeSize::full, partition.reserve()));
    EXPECT_NE(partition.eager() & Partition::half, 0U);
  }
}

TEST(Partition, a_summary_names_the_ranges_that_are_wholly_free) {
  for (const std::uint32_t slots : all_slots) {
    const Partition partition(slots);
    EXPECT_EQ(partition.parts_of_summary(partition.summary_of(partition.whole())),
              partition.whole());
    EXPECT_EQ(partition.summary_of(0), 0);
    EXPECT_LT(partition.summary_of(partition.whole()), 1U << 9U);
  }
  const Partition partition(128);
  const PartMask less = partition.whole() & ~partition.parts_of({ReductionId{72}, 2});
  EXPECT_EQ(partition.summary_of(less), partition.summary_of(partition.whole()) & ~4U);
}

TEST(Partition, knows_no_parts_for_ids_that_no_range_has) {
  const Partition partition(128);
  for (const IdRange& ids :
       {IdRange{ReductionId{0}, 8}, IdRange{ReductionId{32}, 8}, IdRange{ReductionId{65}, 2},
        IdRange{ReductionId{64}, 16}, IdRange{ReductionId{126}, 4}, IdRange{ReductionId{64}, 0},
        IdRange{ReductionId{64}, 1}}) {
    EXPECT_EQ(partition.parts_of(ids), 0U) << +ids.first.value << " + " << +ids.count;
  }
}

TEST(IdRange, overlaps_where_an_id_is_in_both) {
  const IdRange a{ReductionId{64}, 8};
  EXPECT_TRUE(a.overlaps({ReductionId{71}, 1}));
  EXPECT_TRUE(a.overlaps({ReductionId{66}, 2}));
  EXPECT_FALSE(a.overlaps({ReductionId{72}, 8}));
  EXPECT_FALSE(a.overlaps({ReductionId{0}, 64}));
}

} // namespace
} // namespace tributary::test
