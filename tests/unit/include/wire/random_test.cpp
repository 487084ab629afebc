#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace tributary {
namespace {

TEST(Random, draws_the_same_numbers_on_every_machine) {
  Random random(1);
  // xoshiro256** seeded with splitmix64(1), computed with the authors' reference program's
  // formulas.
  EXPECT_EQ(random.next(), 0xB3F2AF6D0FC710C5U);
  EXPECT_EQ(random.next(), 0x853B559647364CEAU);
}

TEST(Random, below_covers_its_range_and_nothing_else) {
  Random random(2);
  std::vector<int> seen(7);
  for (int i = 0; i < 7'000; ++i) {
    const auto n = random.below(7);
    ASSERT_LT(n, 7U);
    ++seen[n];
  }
  EXPECT_GT(*std::ranges::min_element(seen), 800);
}

TEST(Random, chance_of_zero_draws_nothing) {
  Random one(3);
  Random other(3);
  EXPECT_FALSE(one.chance(0));
  EXPECT_EQ(one.next(), other.next());
}

TEST(Random, forks_differ_from_each_other_and_leave_their_parent_alone) {
  Random parent(4);
  const Random untouched(4);
  Random a = parent.fork(1);
  Random b = parent.fork(2);
  Random a_again = untouched.fork(1);
  const auto first = a.next();
  EXPECT_NE(first, b.next());
  EXPECT_EQ(first, a_again.next());
}

TEST(Random, shuffle_keeps_all_items) {
  Random random(5);
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  auto shuffled = items;
  random.shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  std::ranges::sort(shuffled);
  EXPECT_EQ(shuffled, items);
}

} // namespace
} // namespace tributary
