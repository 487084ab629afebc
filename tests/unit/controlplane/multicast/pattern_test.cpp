// Patterns put the right processes into groups, on the right switches.
#include "controlplane/multicast/comparison/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tributary::multicast {

using comparison::Group;
using comparison::make_groups;

namespace {

using topology::build_model;
using topology::SwitchId;

std::vector<std::vector<std::uint32_t>> numbers(const std::vector<Group>& groups) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const Group& group : groups) {
    all.emplace_back();
    for (const SwitchId s : group) {
      all.back().push_back(s.value);
    }
  }
  return all;
}

using Numbers = std::vector<std::vector<std::uint32_t>>;

TEST(Pattern, AGridGivesEveryLineTheLastDimensionsFirst) {
  const auto model = build_model("torus:6x1"); // one host a switch
  EXPECT_EQ(numbers(make_groups("2x3", model, 1)),
            (Numbers{{0, 1, 2}, {3, 4, 5}, {0, 3}, {1, 4}, {2, 5}}));
}

TEST(Pattern, ThreeDimensionsAreRowMajor) {
  const auto model = build_model("torus:12x1");
  const auto groups = numbers(make_groups("2x3x2", model, 1));
  EXPECT_EQ(groups.size(), 6U + 4 + 6);
  EXPECT_EQ(groups[0], (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(groups[6], (std::vector<std::uint32_t>{0, 2, 4}));
  EXPECT_EQ(groups[9], (std::vector<std::uint32_t>{7, 9, 11}));
  EXPECT_EQ(groups[10], (std::vector<std::uint32_t>{0, 6}));
}

TEST(Pattern, HostsTakeAsManyRanksAsAreNeededAndSwitchesAreNamedOnce) {
  const auto model = build_model("torus:2x2"); // 4 hosts on 2 switches
  EXPECT_EQ(numbers(make_groups("2x4", model, 1)),
            (Numbers{{0}, {1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}));
  EXPECT_EQ(numbers(make_groups("2x2", model, 1)), (Numbers{{0}, {1}, {0, 1}, {0, 1}}));
}

TEST(Pattern, RandomPlacesAreAPermutationThatTheSeedDecides) {
  const auto model = build_model("torus:40x1");
  const auto scattered = make_groups("~5x8", model, 7);
  EXPECT_EQ(scattered, make_groups("~5x8", model, 7));
  EXPECT_NE(scattered, make_groups("~5x8", model, 8));
  std::map<SwitchId, int> times;
  for (const Group& group : scattered) {
    EXPECT_TRUE(std::ranges::is_sorted(group));
    for (const SwitchId s : group) {
      ++times[s];
    }
  }
  EXPECT_EQ(times.size(), 40U);
  EXPECT_TRUE(std::ranges::all_of(times, [](const auto& one) { return one.second == 2; }));
}

TEST(Pattern, RandomGroupsHaveTheSizesAskedForAndDistinctMembers) {
  const auto model = build_model("torus:50x1");
  const auto groups = make_groups("rand:200,3,9", model, 5);
  EXPECT_EQ(groups.size(), 200U);
  std::map<std::size_t, int> sizes;
  for (const Group& group : groups) {
    ++sizes[group.size()];
    EXPECT_TRUE(std::ranges::adjacent_find(group) == group.end());
  }
  EXPECT_EQ(sizes.begin()->first, 3U);
  EXPECT_EQ(sizes.rbegin()->first, 9U);
  EXPECT_EQ(groups, make_groups("rand:200,3,9", model, 5));
}

TEST(Pattern, SaysWhatIsWrongWithAName) {
  const auto model = build_model("torus:6x1");
  const auto refusal = [&](const char* pattern) -> std::string {
    try {
      (void)make_groups(pattern, model, 1);
    } catch (const comparison::PatternError& e) {
      return e.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal("6"), HasSubstr("two dimensions"));
  EXPECT_THAT(refusal(""), HasSubstr("\"\" is not a number"));
  EXPECT_THAT(refusal("2x"), HasSubstr("pattern \"2x\": \"\" is not a number"));
  EXPECT_THAT(refusal("~axb"), HasSubstr("\"a\" is not a number"));
  EXPECT_THAT(refusal("4096x4097"), HasSubstr("processes"));
  EXPECT_THAT(refusal("rand:3,4"), HasSubstr("rand:100,8,64"));
  EXPECT_THAT(refusal("rand:3,4,2"), HasSubstr("needed are"));
  EXPECT_THAT(refusal("rand:3,4,7"), HasSubstr("the 6 processes"));
}

} // namespace
} // namespace tributary::multicast
