// What copies share: pages, maps in pieces, and copies on several threads.
#include "controlplane/topology/pages.hpp"
#include "controlplane/topology/shared_map.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace tributary::topology {
namespace {

TEST(Pages, hold_what_a_vector_holds_over_many_pages) {
  Pages<std::string> pages;
  std::vector<std::string> reference;
  for (int i = 0; i < 1000; ++i) {
    pages.push_back(std::to_string(i));
    reference.push_back(std::to_string(i));
  }
  for (int i = 0; i < 400; ++i) {
    pages.pop_back();
    reference.pop_back();
  }
  pages.own(130) = reference[130] = "changed";
  pages.push_back("last");
  reference.push_back("last");
  EXPECT_TRUE(std::ranges::equal(pages, reference));
  EXPECT_EQ(pages.back(), "last");
  EXPECT_EQ(*(pages.begin() + 130), "changed");
  while (!pages.empty()) {
    pages.pop_back();
  }
  EXPECT_EQ(pages.begin(), pages.end());
}

TEST(Pages, copies_share_the_pages_that_neither_has_changed) {
  Pages<int> pages;
  for (int i = 0; i < 1000; ++i) {
    pages.push_back(i);
  }
  const Pages<int> copy = pages;
  pages.own(500) = -1;
  EXPECT_EQ(copy[500], 500);
  EXPECT_EQ(pages[500], -1);
  EXPECT_EQ(&copy[0], &pages[0]);
  EXPECT_NE(&copy[500], &pages[500]);
  EXPECT_EQ(&copy[999], &pages[999]);
}

class SharedMapTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SharedMapTest, is_a_map_and_snapshots_stay_as_they_were) {
  tributary::Random random(GetParam());
  SharedMap<std::uint32_t, std::uint32_t> map;
  std::map<std::uint32_t, std::uint32_t> reference;
  SharedMap<std::uint32_t, std::uint32_t> snapshot;
  std::map<std::uint32_t, std::uint32_t> reference_then;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const auto key = static_cast<std::uint32_t>(random.below(3000));
    switch (random.below(i < 10'000 ? 3 : 6)) {
    case 0:
    case 1: EXPECT_EQ(map.insert(key, i), reference.emplace(key, i).second); break;
    case 2:
      if (map.contains(key)) {
        map.set(key, i);
        reference[key] = i;
      }
      break;
    default: EXPECT_EQ(map.erase(key), reference.erase(key) == 1);
    }
    const auto next = reference.lower_bound(key);
    const auto* const found = map.first_from(key);
    ASSERT_EQ(found == nullptr, next == reference.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, (std::pair<std::uint32_t, std::uint32_t>(*next)));
    }
    if (i == 9'000) {
      snapshot = map;
      reference_then = reference;
    }
  }
  for (std::uint32_t key = 0; key < 3000; ++key) {
    const auto then = reference_then.find(key);
    const std::uint32_t* const found = snapshot.find(key);
    ASSERT_EQ(found == nullptr, then == reference_then.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, then->second);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, SharedMapTest, ::testing::Values(1, 2, 3));

TEST(SharedMap, finds_text_by_text) {
  SharedMap<std::string, int> map;
  EXPECT_TRUE(map.insert("leaf", 1));
  EXPECT_FALSE(map.insert("leaf", 2));
  EXPECT_EQ(*map.find(std::string_view("leaf")), 1);
  EXPECT_EQ(map.find(std::string_view("spine")), nullptr);
}

TEST(Shared, a_snapshot_is_read_and_given_up_on_a_thread_while_the_other_is_changed) {
  Pages<int> pages;
  for (int i = 0; i < 2000; ++i) {
    pages.push_back(1);
  }
  for (int round = 0; round < 50; ++round) {
    int sum = 0;
    std::thread reader([snapshot = pages, &sum]() mutable {
      for (const int value : snapshot) {
        sum += value;
      }
      snapshot = {};
    });
    for (std::size_t i = 0; i < pages.size(); i += 64) {
      ++pages.own(i);
    }
    for (std::size_t i = 0; i < pages.size(); i += 64) {
      --pages.own(i);
    }
    reader.join();
    ASSERT_EQ(sum, 2000);
  }
}

} // namespace
} // namespace tributary::topology
