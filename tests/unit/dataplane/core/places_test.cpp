#include "dataplane/core/places.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::core::test {
namespace {

std::vector<std::size_t> listed(Places places) {
  std::vector<std::size_t> all;
  places.for_each([&](std::size_t place) { all.push_back(place); });
  return all;
}

TEST(Places, those_of_a_part_stand_where_the_part_stands) {
  Places part = Places::first(2);
  part.insert(5);
  Places burst;
  burst.insert(60, part);
  burst.insert(3);
  EXPECT_EQ(listed(burst), (std::vector<std::size_t>{3, 60, 61}));
  EXPECT_TRUE(burst.contains(61));
  EXPECT_FALSE(burst.contains(62));
}

TEST(Places, behind_the_limit_nothing_is_known) {
  Places places;
  places.insert(Places::limit);
  places.insert(Places::limit, Places::all());
  EXPECT_TRUE(places.empty());
  EXPECT_FALSE(places.contains(Places::limit));
  EXPECT_FALSE(Places::all().contains(Places::limit));
  EXPECT_EQ(listed(Places::first(Places::limit)).size(), Places::limit);
  EXPECT_EQ(listed(Places::first(200)).size(), Places::limit);
}

TEST(Places, the_next_one_is_in_the_set_or_unknown_or_the_end) {
  Places places;
  places.insert(4);
  places.insert(63);
  EXPECT_EQ(places.next(0, 100), 4U);
  EXPECT_EQ(places.next(4, 100), 4U);
  EXPECT_EQ(places.next(5, 100), 63U);
  EXPECT_EQ(places.next(5, 32), 32U);
  EXPECT_EQ(places.next(0, 0), 0U);
  EXPECT_EQ(places.next(64, 100), 64U);
  EXPECT_EQ(places.next(70, 100), 70U);
  EXPECT_EQ(places.next(100, 100), 100U);
  EXPECT_EQ(Places().next(0, 100), 64U);
  EXPECT_EQ(Places().next(0, 64), 64U);
}

} // namespace
} // namespace tributary::core::test
