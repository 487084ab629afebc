// How members, the group and the manager's file determine a group's frames.
#include "controlplane/group/wide_frames_choice.hpp"

#include "registry_fixture.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using group::WideFrames;
using testing::HasSubstr;

constexpr WideFrames most{.slots = 128, .payload = 8192, .half_floats = true};
constexpr WideFrames at_1500{.slots = 128, .payload = 1408, .half_floats = false};

group::Group of_two(const WideFrames& first, const WideFrames& second) {
  group::Group group;
  group.size = 2;
  group.members.emplace(0, group::Member{.nid = Nid{1}, .host = "h0", .takes = first});
  group.members.emplace(1, group::Member{.nid = Nid{2}, .host = "h1", .takes = second});
  return group;
}

TEST(WideFramesChoice, is_what_the_file_allows_where_all_can_have_it) {
  const auto choice = wide_frames_choice(of_two(most, most), most);
  EXPECT_EQ(choice.frames, most);
  EXPECT_EQ(choice.why, "");
}

TEST(WideFramesChoice, is_the_least_of_all_members_and_names_whose) {
  const auto choice = wide_frames_choice(
      of_two({.slots = 32, .payload = 8192, .half_floats = false}, at_1500), most);
  EXPECT_EQ(choice.frames, (WideFrames{.slots = 32, .payload = 1408, .half_floats = true}));
  EXPECT_THAT(choice.why, HasSubstr("rank 1 (NID 2, host h1) takes 1408 bytes"));
  EXPECT_THAT(choice.why, HasSubstr("rank 0 (NID 1, host h0) takes 32 reductions in flight"));
}

TEST(WideFramesChoice, one_member_that_knows_no_wide_frames_takes_them_from_all) {
  const auto choice = wide_frames_choice(of_two(most, {}), most);
  EXPECT_EQ(choice.frames, WideFrames{});
  EXPECT_EQ(choice.why, "rank 1 (NID 2, host h1) takes no wide frames");
}

TEST(WideFramesChoice, the_group_itself_may_ask_for_less) {
  group::Group group = of_two(most, most);
  group.wanted_frames = {.slots = 16, .payload = 1408, .half_floats = true};
  const auto choice = wide_frames_choice(group, most);
  EXPECT_EQ(choice.frames.slots, 16U);
  EXPECT_EQ(choice.frames.payload, 1408U);
  EXPECT_THAT(choice.why, HasSubstr("the group takes 1408 bytes and 16 reductions in flight"));
}

TEST(WideFramesChoice, no_group_gets_what_the_file_does_not_allow_and_multicasts_get_none) {
  EXPECT_EQ(wide_frames_choice(of_two(most, most), {}).frames, WideFrames{});
  group::Group multicast = of_two(most, most);
  multicast.multicast = true;
  EXPECT_EQ(wide_frames_choice(multicast, most).frames, WideFrames{});
}

// ---- in the registry ----

group::JoinRequest taking(std::uint32_t rank, const WideFrames& takes) {
  group::JoinRequest request = request_to_join(rank, rank + 1, 2);
  request.takes = takes;
  return request;
}

TEST(Frames, of_members_are_what_they_said_last_before_all_are_there_and_survive_a_restart) {
  RegistryFixture registry;
  registry.job();
  ASSERT_TRUE(registry->join(taking(0, at_1500), registry.now).ok());
  ASSERT_TRUE(registry->join(taking(0, most), registry.now).ok());
  registry.act();
  EXPECT_EQ(registry->find("j1", "demo")->members.at(0).takes, most);
  registry.restart();
  EXPECT_EQ(registry->find("j1", "demo")->members.at(0).takes.payload, most.payload);
}

TEST(Frames, of_a_group_are_those_of_its_first_routes_and_stay_when_it_is_led_another_way) {
  RegistryFixture registry;
  registry.job();
  const GroupId id = registry.computing();
  group::Routes routes = routes_over("spine");
  routes.frames = at_1500;
  routes.frames_note = "why";
  ASSERT_TRUE(registry->routes_ready(id, routes, registry.now));
  registry.act();
  registry->installed(id, registry.now);
  ASSERT_TRUE(registry->routes_ready(id, routes_over("other"), registry.now));
  registry.act();
  EXPECT_EQ(registry->find(id)->frames, at_1500);
  registry.restart();
  EXPECT_EQ(registry->find(id)->frames, at_1500);
  EXPECT_EQ(registry->find(id)->frames_note, "why");
}

TEST(Frames, are_narrowed_only_before_members_know_them) {
  RegistryFixture registry;
  registry.job();
  const GroupId id = registry.computing();
  EXPECT_FALSE(registry->narrow(id, {}, "too early"));
  group::Routes routes = routes_over("spine");
  routes.frames = at_1500;
  ASSERT_TRUE(registry->routes_ready(id, routes, registry.now));
  registry.act();
  EXPECT_TRUE(registry->narrow(id, {.slots = 64, .payload = 1408, .half_floats = false}, "full"));
  EXPECT_EQ(registry->find(id)->frames.slots, 64U);
  EXPECT_EQ(registry->find(id)->frames_note, "full");
  registry->installed(id, registry.now);
  EXPECT_FALSE(registry->narrow(id, {}, "too late"));
  EXPECT_EQ(registry->find(id)->frames.slots, 64U);
}

TEST(Frames, that_a_request_asked_for_are_taken_back_with_it) {
  RegistryFixture registry;
  registry.job();
  ASSERT_TRUE(registry->join(taking(0, at_1500), registry.now).ok());
  registry.act();
  registry->begin_requests();
  ASSERT_TRUE(registry->join(taking(0, most), registry.now).ok());
  registry->undo_requests();
  EXPECT_EQ(registry->find("j1", "demo")->members.at(0).takes, at_1500);
}

} // namespace
} // namespace tributary::test
