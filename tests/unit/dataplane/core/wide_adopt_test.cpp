// Slot memory while trees come and go: no held data is lost, no slot is shared or overrun.

#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <stdexcept>

namespace tributary::core::test {
namespace {

using Ints = std::vector<std::uint32_t>;

constexpr TreeNumber second_tree{77};
constexpr SlotDemand demand{.slots = 128, .payload_bytes = limit};
/// Room for exactly one tree.
constexpr std::uint64_t room_for_one = demand.bytes();

TablesBuilder with_trees(std::initializer_list<TreeNumber> trees, std::uint64_t wide_memory,
                         const SlotDemand& each = demand) {
  TablesBuilder builder({}, wide_memory);
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  for (const TreeNumber t : trees) {
    EXPECT_EQ(builder.add_tree(t, wait_count, parent, children, each), "");
  }
  return builder;
}

wire::WideFrame on(TreeNumber t, Nid source) {
  wire::WideFrame f = wide_contribution(7, source);
  f.tree = t;
  return f;
}

void arm_on(TestSwitch& s, TreeNumber t) {
  wire::ReductionFrame a = with_id(arm(7), high_id);
  a.tree = t;
  EXPECT_EQ(s.give(parent, a).event, Event::armed);
}

TEST(WideAdopt, ATreeThatVanishesIsEmittedBeforeItsPlaceIsAnothers) {
  TestSwitch s({.wide_memory = room_for_one});
  s.adopt(with_trees({tree}, room_for_one));
  arm_on(s, tree);
  s.give(child, wide_frame(on(tree, Nid{1}), Ints(352, 5)));
  s.give(child, wide_frame(on(tree, Nid{2}), Ints(352, 6)));

  s.adopt(with_trees({second_tree}, room_for_one));
  EXPECT_EQ(s.core.tables().slot_place(second_tree).first_line, 0U);
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].port, parent);
  EXPECT_EQ(decoded_wide(s.emitted[0].frame).tree, tree);
  EXPECT_EQ(decoded_wide(s.emitted[0].frame).word.count, 2U);
  EXPECT_EQ(elements_of<std::uint32_t>(s.emitted[0].frame), Ints(352, 11));

  arm_on(s, second_tree);
  s.give(child, wide_frame(on(second_tree, Nid{3}), Ints(352, 100)));
  wire::WideFrame rest = on(second_tree, Nid{4});
  rest.word.count = 3;
  Frame last = wide_frame(rest, Ints(352, 1));
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(elements_of<std::uint32_t>(last), Ints(352, 101));
  EXPECT_EQ(s.emitted.size(), 1U);
}

TEST(WideAdopt, AnotherDemandMakesItAnotherTree) {
  for (const SlotDemand& changed :
       {SlotDemand{.slots = 64, .payload_bytes = limit},
        SlotDemand{.slots = 128, .payload_bytes = 704},
        SlotDemand{.slots = 128, .payload_bytes = limit, .half_floats = true}}) {
    TestSwitch s;
    s.adopt(with_trees({tree}, default_wide_memory));
    arm_on(s, tree);
    s.give(child, wide_frame(on(tree, Nid{1})));
    s.adopt(with_trees({tree}, default_wide_memory, changed));
    EXPECT_EQ(s.emitted.size(), 1U);
    EXPECT_TRUE(s.descriptors().empty());
    EXPECT_EQ(s.core.engines().in_use(parent), 0U);
  }
}

TEST(WideAdopt, ATreeKeepsWhatItHoldsWhileItsNeighboursChange) {
  TestSwitch s;
  s.adopt(with_trees({second_tree, tree}, default_wide_memory));
  const SlotPlace place = s.core.tables().slot_place(tree);
  EXPECT_NE(place.first_line, 0U);
  arm_on(s, tree);
  s.give(child, wide_frame(on(tree, Nid{1}), Ints(352, 5)));

  // Rebuilt, as when the file is read again: the tree in front of it is gone, and another is added.
  TablesBuilder next = with_trees({tree, old_tree}, default_wide_memory);
  next.keep_slots_of(s.core.tables());
  s.adopt(std::move(next));
  EXPECT_EQ(s.core.tables().slot_place(tree), place);
  EXPECT_EQ(s.core.tables().slot_place(old_tree).first_line, 0U);
  EXPECT_TRUE(s.emitted.empty());
  arm_on(s, old_tree);
  s.give(child, wide_frame(on(old_tree, Nid{1}), Ints(352, 9)));

  wire::WideFrame rest = on(tree, Nid{2});
  rest.word.count = 3;
  Frame last = wide_frame(rest, Ints(352, 1));
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(elements_of<std::uint32_t>(last), Ints(352, 6));
}

TEST(WideAdopt, AReinstalledTreeRemembersNoEndedSequenceOfAnyId) {
  TestSwitch s;
  s.adopt(with_trees({tree}, default_wide_memory));
  arm_on(s, tree);
  s.pass(30'000'000'000);
  expect_forwarded(s.give(child, wide_frame(on(tree, Nid{1}))), parent, Event::passed_late);
  s.adopt(with_trees({}, default_wide_memory));
  s.adopt(with_trees({tree}, default_wide_memory));
  expect_forwarded(s.give(child, wide_frame(on(tree, Nid{1}))), parent, Event::passed_not_armed);
}

TEST(WideAdopt, TreesOfHigherNumbersCostOthersNothing) {
  TestSwitch s;
  s.adopt(with_trees({TreeNumber{1}}, default_wide_memory));
  arm_on(s, TreeNumber{1});
  s.give(child, wide_frame(on(TreeNumber{1}, Nid{1}), Ints(352, 5)));
  wire::WideFrame ended = on(TreeNumber{1}, Nid{1});
  ended.slot = ReductionId{9};
  wire::ReductionFrame a = with_id(arm(7), ended.slot);
  a.tree = TreeNumber{1};
  s.give(parent, a);
  s.pass(1'000'000'000);
  ended.word.count = 4;
  s.give(child, wide_frame(ended));

  for (const unsigned number : {2U, 100U, 8191U}) { // each makes the tables of keys larger
    const std::size_t keys = s.core.tables().keys();
    s.adopt(with_trees({TreeNumber{1}, TreeNumber{static_cast<std::uint16_t>(number)}},
                       default_wide_memory));
    EXPECT_GT(s.core.tables().keys(), keys);
    EXPECT_TRUE(s.emitted.empty());
    ASSERT_EQ(s.descriptors().size(), 1U);
    EXPECT_EQ(s.descriptors()[0].count, 1U);
    ended.word.count = 1;
    expect_forwarded(s.give(child, wide_frame(ended)), parent, Event::passed_late);
  }
  EXPECT_EQ(s.core.tables().keys(), all_reduction_keys);
  wire::WideFrame rest = on(TreeNumber{1}, Nid{2});
  rest.word.count = 3;
  Frame last = wide_frame(rest, Ints(352, 1));
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(elements_of<std::uint32_t>(last), Ints(352, 6));
}

TEST(WideAdopt, TablesForMoreMemoryThanThereIsAreRefused) {
  TestSwitch s({.wide_memory = room_for_one});
  EXPECT_THROW(s.adopt(with_trees({tree, second_tree}, 2 * room_for_one)), std::invalid_argument);
  TestSwitch none({.wide_memory = 0});
  EXPECT_THROW(none.adopt(with_trees({tree}, room_for_one)), std::invalid_argument);
  none.adopt(with_trees({}, 0));
}

TEST(WideAdopt, TheTablesSayWhyATreeCannotHaveWideFrames) {
  TablesBuilder builder({}, room_for_one);
  for (std::size_t i = 0; i < port_count; ++i) {
    PortPolicy policy;
    policy.longest_frame = i == 2 ? 1514 : 9216;
    ASSERT_EQ(builder.add_port(policy), "");
  }
  const auto refused = [&](ContributionCount count, const SlotDemand& wanted,
                           const std::string& says) {
    const std::string problem = builder.add_tree(tree, count, parent, children, wanted);
    EXPECT_NE(problem.find(says), std::string::npos) << problem;
  };
  refused(0, demand, "an ordinary multicast has no wide reduction frames");
  refused(2, {.slots = 8, .payload_bytes = 8896},
          "makes frames of 8958, and port 2 takes frames of at most 1514; give at most 1408");
  refused(2, {.slots = 24, .payload_bytes = 64}, "tree 2748: 24 slots are not supported");
  refused(2, {.slots = 128, .payload_bytes = limit, .half_floats = true}, "no room");
  EXPECT_EQ(builder.add_tree(tree, 2, parent, children, demand), "");
  EXPECT_NE(builder.add_tree(second_tree, 2, parent, children, demand), "");
  builder.remove_tree(tree);
  EXPECT_EQ(builder.add_tree(second_tree, 2, parent, children, demand), "");
  const auto tables = builder.build(1);
  EXPECT_EQ(tables->tree_count(), 1U);
  EXPECT_FALSE(tables->tree(tree).valid);
  EXPECT_EQ(tables->tree(second_tree).slots(), 128U);
}

} // namespace
} // namespace tributary::core::test
