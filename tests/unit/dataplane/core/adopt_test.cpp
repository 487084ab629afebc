// New tables while reductions are under way, and the tables themselves.

#include "tests/unit/dataplane/core/test_switch.hpp"

#include <string>

namespace tributary::core::test {
namespace {

constexpr TreeNumber other_tree{5};

/// The standard ports with `tree` as given and the standard `other_tree`.
TablesBuilder tables_with(ContributionCount count, PortNumber tree_parent, PortSet tree_children) {
  TablesBuilder builder;
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  EXPECT_EQ(builder.add_tree(tree, count, tree_parent, tree_children), "");
  EXPECT_EQ(builder.add_tree(other_tree, 5, parent, children), "");
  return builder;
}
TablesBuilder same_tables() { return tables_with(wait_count, parent, children); }
TablesBuilder tables_without() {
  TablesBuilder builder;
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  EXPECT_EQ(builder.add_tree(other_tree, 5, parent, children), "");
  return builder;
}

/// Both trees armed for 7 and holding one contribution.
TestSwitch busy_switch() {
  TestSwitch s;
  s.adopt(same_tables());
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  auto a = arm(7);
  a.tree = other_tree;
  s.give(parent, a);
  auto c = contribution(7);
  c.tree = other_tree;
  s.give(child, c);
  EXPECT_EQ(s.descriptors().size(), 2U);
  return s;
}

void expect_only_the_other_tree_left(TestSwitch& s) {
  ASSERT_EQ(s.descriptors().size(), 1U);
  EXPECT_EQ(s.descriptors()[0].key.tree(), other_tree);
  auto c = contribution(7);
  c.tree = other_tree;
  c.word.count = 4;
  Frame last(c);
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(last.decoded().word.count, 5U);
}

TEST(Adopt, EqualTreesKeepTheirReductions) {
  TestSwitch s = busy_switch();
  const auto before = s.core.tables().version();
  s.adopt(same_tables());
  EXPECT_GT(s.core.tables().version(), before);
  EXPECT_TRUE(s.emitted.empty());
  EXPECT_EQ(s.descriptors().size(), 2U);
  auto c = contribution(7);
  c.word.count = 3;
  expect_emitted(s.give(child, c), parent);
}

TEST(Adopt, RemovedTreeIsEmittedToItsParentAndFreed) {
  TestSwitch s = busy_switch();
  s.adopt(tables_without());
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].port, parent);
  EXPECT_EQ(s.emitted[0].frame.decoded().tree, tree);
  EXPECT_EQ(s.emitted[0].frame.decoded().word.count, 1U);
  EXPECT_EQ(s.of(tree).partial.read(), 1U);
  EXPECT_EQ(s.engine().partial.read(), 1U);
  expect_only_the_other_tree_left(s);
  expect_dropped(s, s.give(child, contribution(7)), child, DropReason::unknown_tree);
}

TEST(Adopt, MovedParentIsEmittedToTheOldOne) {
  TestSwitch s = busy_switch();
  s.adopt(tables_with(wait_count, routed, PortSet{0b01111}));
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].port, parent);
  expect_only_the_other_tree_left(s);
  expect_forwarded(s.give(child, contribution(7)), routed, Event::passed_not_armed);
  expect_replicated(s.give(routed, arm(8)), PortSet{0b01111}, Event::armed);
}

TEST(Adopt, ChangedWaitCountOrChildrenAreEmitted) {
  for (const bool count_changes : {true, false}) {
    TestSwitch s = busy_switch();
    s.adopt(count_changes ? tables_with(wait_count + 1, parent, children)
                          : tables_with(wait_count, parent, PortSet{0b00110}));
    EXPECT_EQ(s.emitted.size(), 1U);
    expect_only_the_other_tree_left(s);
  }
}

TEST(Adopt, ChangedTreeWithoutDataIsFreedSilently) {
  TestSwitch s;
  s.adopt(same_tables());
  s.give(parent, arm(7));
  s.adopt(tables_without());
  EXPECT_TRUE(s.emitted.empty());
  EXPECT_TRUE(s.descriptors().empty());
  EXPECT_EQ(s.engine().expired_empty.read(), 0U);
}

TEST(Adopt, WithoutABufferTheDataIsDroppedAndCounted) {
  TestSwitch s = busy_switch();
  s.buffers_are_free = false;
  s.adopt(tables_without());
  EXPECT_EQ(s.drops(parent, DropReason::no_buffer), 1U);
  EXPECT_EQ(s.engine().partial.read(), 0U);
  s.buffers_are_free = true;
  expect_only_the_other_tree_left(s);
}

TEST(Adopt, FreedDescriptorsCanBeHadAgain) {
  TestSwitch s({.descriptors_per_engine = 8});
  s.adopt(same_tables());
  for (int round = 0; round < 3; ++round) {
    s.adopt(same_tables());
    for (std::uint8_t id = 0; id < 8; ++id) {
      auto a = arm(7);
      a.reduction = ReductionId{id};
      EXPECT_EQ(s.give(parent, a).event, Event::armed);
    }
    s.adopt(tables_without());
  }
}

TEST(Adopt, AReinstalledTreeRemembersNoEndedSequence) {
  TestSwitch s;
  s.adopt(same_tables());
  s.give(parent, arm(7));
  s.pass(30'000'000'000);
  expect_forwarded(s.give(child, contribution(7)), parent, Event::passed_late);
  s.adopt(same_tables());
  expect_forwarded(s.give(child, contribution(7)), parent, Event::passed_late);
  s.adopt(tables_without());
  s.adopt(same_tables());
  expect_forwarded(s.give(child, contribution(7)), parent, Event::passed_not_armed);
}

TEST(Adopt, NothingIsKnownBeforeTheFirstTables) {
  SwitchCore core({}, PortSet::first(2));
  EXPECT_EQ(core.tables().version(), 0U);
  EXPECT_EQ(core.tables().tree_count(), 0U);
  EXPECT_EQ(core.next_deadline(), never);
}

void expect_refused(const std::string& answer, const std::string& what) {
  EXPECT_NE(answer.find(what), std::string::npos) << answer;
}

TEST(TablesBuilder, RefusesWhatDoesNotFit) {
  TablesBuilder b;
  ASSERT_EQ(b.add_port({}), "");
  ASSERT_EQ(b.add_port({}), "");
  expect_refused(b.add_tree(TreeNumber{8192}, 1, PortNumber{0}, PortSet{0b10}), "tree 8192");
  expect_refused(b.add_tree(tree, max_contributions + 1, PortNumber{0}, PortSet{0b10}),
                 "wait count 1048576");
  expect_refused(b.add_tree(tree, 1, PortNumber{2}, PortSet{0b10}), "parent port 2");
  expect_refused(b.add_tree(tree, 1, no_port, PortSet{0b10}), "parent port 255");
  expect_refused(b.add_tree(tree, 1, PortNumber{0}, PortSet{0b110}), "child port 2");
  expect_refused(b.add_tree(tree, 1, PortNumber{0}, PortSet{0b11}),
                 "both its parent and its child");
  expect_refused(b.add_tree(tree, 1, PortNumber{0}, PortSet{}), "no child");
  expect_refused(b.add_route(Nid{1}, PortNumber{2}), "port 2");
  expect_refused(b.add_route(Nid{0xFF800}, PortNumber{0}), "NID 1046528");
  expect_refused(b.add_port({.nid = Nid{0x100000}, .vnis = {}}), "NID 1048576");
  ASSERT_EQ(b.add_tree(tree, 1, PortNumber{0}, PortSet{0b10}), "");
  ASSERT_EQ(b.add_route(Nid{1}, PortNumber{1}), "");
  expect_refused(b.add_tree(tree, 2, PortNumber{1}, PortSet{0b01}), "twice");
  expect_refused(b.add_route(Nid{1}, PortNumber{0}), "twice");
  // None of that left a trace.
  const auto tables = b.build(3);
  EXPECT_EQ(tables->version(), 3U);
  EXPECT_EQ(tables->port_count(), 2U);
  EXPECT_EQ(tables->tree_count(), 1U);
  EXPECT_EQ(tables->tree(tree).wait_count, 1U);
  EXPECT_EQ(tables->tree(tree).parent, PortNumber{0});
  EXPECT_EQ(tables->route(Nid{1}), PortNumber{1});
  EXPECT_EQ(tables->route(Nid{2}), no_port);
}

TEST(TablesBuilder, TakesSixtyFourPortsAndIsEmptyAfterBuild) {
  TablesBuilder b;
  for (std::size_t i = 0; i < max_ports; ++i) {
    ASSERT_EQ(b.add_port({}), "");
  }
  expect_refused(b.add_port({}), "at most 64 ports");
  EXPECT_EQ(b.build(1)->port_count(), 64U);
  EXPECT_EQ(b.build(2)->port_count(), 0U);
}

} // namespace
} // namespace tributary::core::test
