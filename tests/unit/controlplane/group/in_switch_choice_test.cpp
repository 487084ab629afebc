// Whether a group may have in-switch results.
#include "controlplane/group/in_switch_choice.hpp"

#include "registry_fixture.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using testing::HasSubstr;

group::Group of_three(std::optional<bool> wanted) {
  group::Group group;
  group.size = 3;
  group.in_switch_results.wanted = wanted;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    group.members.emplace(rank, group::Member{.nid = Nid{rank + 1}, .host = "h"});
  }
  return group;
}

TEST(InSwitchChoice, what_the_group_says_goes_before_the_site) {
  for (const bool by_default : {false, true}) {
    EXPECT_FALSE(in_switch_choice(of_three(false), by_default).in_switch);
    EXPECT_THAT(in_switch_choice(of_three(false), by_default).why, HasSubstr("refused them"));
    EXPECT_TRUE(in_switch_choice(of_three(true), by_default).in_switch);
    EXPECT_EQ(in_switch_choice(of_three(true), by_default).why, "");
    EXPECT_EQ(in_switch_choice(of_three(std::nullopt), by_default).in_switch, by_default);
  }
  EXPECT_THAT(in_switch_choice(of_three(std::nullopt), false).why,
              HasSubstr("groups.in_switch_results is false"));
}

TEST(InSwitchChoice, multicasts_have_none_and_need_no_reason) {
  group::Group group = of_three(std::nullopt);
  group.multicast = true;
  EXPECT_FALSE(in_switch_choice(group, true).in_switch);
  EXPECT_EQ(in_switch_choice(group, true).why, "");
}

TEST(InSwitchChoice, two_trees_have_none) {
  group::Group group = of_three(std::nullopt);
  group.trees = 2;
  EXPECT_FALSE(in_switch_choice(group, true).in_switch);
  EXPECT_THAT(in_switch_choice(group, true).why, HasSubstr("2 trees"));
}

TEST(InSwitchChoice, a_wait_count_has_to_hold_all_members) {
  group::Group group = of_three(true);
  group.size = max_contributions + 1;
  EXPECT_THAT(in_switch_choice(group, false).why, HasSubstr("no wait count goes beyond"));
}

} // namespace
} // namespace tributary::test
