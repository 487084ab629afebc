#include "controlplane/trees/wide_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tributary::trees {
namespace {

using testing::ElementsAre;
using topology::SwitchId;

constexpr WideFrames frames{.slots = 16, .payload = 64, .half_floats = false};
constexpr TreeNumber five{5};
constexpr TreeNumber six{6};

std::vector<multicast::TreePart> over(std::vector<std::uint32_t> switches) {
  std::vector<multicast::TreePart> parts;
  for (const std::uint32_t at : switches) {
    parts.push_back(
        {.at = SwitchId{at}, .parent = 0, .children = {1}, .wait_count = 1, .depth = 0});
  }
  return parts;
}

TEST(WideMemory, a_place_is_slots_times_payload_and_twice_that_for_16_bit_floats) {
  WideMemory memory;
  memory.hold(five, over({1}), frames);
  EXPECT_EQ(memory.used_bytes(SwitchId{1}), 1024U);
  memory.hold(six, over({1}), {.slots = 16, .payload = 64, .half_floats = true});
  EXPECT_EQ(memory.used_bytes(SwitchId{1}), 1024U + 2048U);
  EXPECT_EQ(memory.held_by(six, SwitchId{1}), 2048U);
  EXPECT_EQ(memory.used_bytes(SwitchId{2}), 0U);
}

TEST(WideMemory, trees_without_wide_frames_hold_nothing) {
  WideMemory memory;
  memory.hold(five, over({1}), {});
  EXPECT_EQ(memory.used_bytes(SwitchId{1}), 0U);
  EXPECT_TRUE(memory.holders(SwitchId{1}).empty());
}

TEST(WideMemory, a_tree_that_moves_holds_both_places_until_it_is_in_force) {
  WideMemory memory;
  memory.hold(five, over({1, 2}), frames);
  memory.hold(five, over({1, 3}), frames);
  for (const std::uint32_t at : {1U, 2U, 3U}) {
    EXPECT_EQ(memory.used_bytes(SwitchId{at}), 1024U) << at;
  }
  memory.commit(five, over({1, 3}));
  EXPECT_EQ(memory.used_bytes(SwitchId{1}), 1024U);
  EXPECT_EQ(memory.used_bytes(SwitchId{2}), 0U);
  memory.drop(five);
  EXPECT_EQ(memory.used_bytes(SwitchId{1}), 0U);
  EXPECT_EQ(memory.used_bytes(SwitchId{3}), 0U);
}

TEST(WideMemory, what_a_switches_file_has_is_replaced_as_a_whole_and_no_tree_of_a_group_with_it) {
  WideMemory memory;
  memory.hold(five, over({1}), frames);
  const std::vector<std::pair<TreeNumber, WideFrames>> two = {{TreeNumber{70}, frames},
                                                              {TreeNumber{71}, frames}};
  memory.set_own(SwitchId{1}, two);
  EXPECT_EQ(memory.used_bytes(SwitchId{1}), 3072U);
  memory.set_own(SwitchId{1}, std::span(two).first(1));
  EXPECT_EQ(memory.used_bytes(SwitchId{1}), 2048U);
  memory.set_own(SwitchId{1}, {});
  EXPECT_EQ(memory.used_bytes(SwitchId{1}), 1024U);
}

TEST(WideMemory, names_the_largest_holders_first) {
  WideMemory memory;
  memory.hold(five, over({1}), frames);
  memory.hold(six, over({1}), {.slots = 32, .payload = 64, .half_floats = false});
  std::vector<TreeNumber> order;
  for (const WideMemory::Holding& one : memory.holders(SwitchId{1})) {
    order.push_back(one.tree);
  }
  EXPECT_THAT(order, ElementsAre(six, five));
}

} // namespace
} // namespace tributary::trees
