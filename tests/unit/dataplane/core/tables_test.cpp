// A builder that begins with a snapshot: what it shares, what it changes, and that the original
// snapshot is unchanged.

#include "dataplane/core/tables.hpp"

#include <gtest/gtest.h>

namespace tributary::core {
namespace {

constexpr PortNumber port(unsigned n) { return PortNumber{static_cast<std::uint8_t>(n)}; }
constexpr TreeNumber tree(unsigned n) { return TreeNumber{static_cast<std::uint16_t>(n)}; }

class TablesFromASnapshot : public testing::Test {
protected:
  void SetUp() override {
    TablesBuilder builder;
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(builder.add_port({}), "");
    }
    ASSERT_EQ(builder.add_tree(tree(1), 20, port(0), PortSet(0b0110)), "");
    ASSERT_EQ(builder.add_tree(tree(8191), 3, port(3), PortSet(0b0001)), "");
    ASSERT_EQ(builder.add_route(Nid{7}, port(2)), "");
    base = builder.build(1);
  }
  std::shared_ptr<const Tables> base;
};

TEST_F(TablesFromASnapshot, holds_all_that_the_snapshot_holds) {
  const auto copy = TablesBuilder({}, *base).build(2);
  EXPECT_EQ(copy->version(), 2U);
  EXPECT_EQ(copy->port_count(), 4U);
  EXPECT_EQ(copy->tree_count(), 2U);
  EXPECT_EQ(copy->tree(tree(1)), base->tree(tree(1)));
  EXPECT_EQ(copy->tree(tree(8191)), base->tree(tree(8191)));
  EXPECT_EQ(copy->route(Nid{7}), port(2));
  EXPECT_EQ(copy->route(Nid{8}), no_port);
}

TEST_F(TablesFromASnapshot, replaces_a_tree_that_was_removed_before) {
  TablesBuilder builder({}, *base);
  EXPECT_EQ(builder.add_tree(tree(1), 5, port(1), PortSet(0b1000)), "tree 1 is there twice");
  builder.remove_tree(tree(1));
  EXPECT_EQ(builder.add_tree(tree(1), 5, port(1), PortSet(0b1000)), "");
  const auto changed = builder.build(2);
  EXPECT_EQ(changed->tree(tree(1)).parent, port(1));
  EXPECT_EQ(changed->tree(tree(1)).timer, EngineTimers().choose(5));
  EXPECT_EQ(changed->tree_count(), 2U);
  EXPECT_EQ(base->tree(tree(1)).parent, port(0));
}

TEST_F(TablesFromASnapshot, shares_a_tree_whose_reductions_go_on) {
  TablesBuilder builder({}, *base);
  EXPECT_EQ(builder.set_shared(tree(1), true), "");
  const auto shared = builder.build(2);
  EXPECT_TRUE(shared->tree(tree(1)).shared);
  EXPECT_FALSE(base->tree(tree(1)).shared);
  EXPECT_TRUE(shared->has_same(*base, tree(1)));
  EXPECT_NE(shared->tree(tree(1)), base->tree(tree(1)));
  TablesBuilder again({}, *shared);
  EXPECT_EQ(again.set_shared(tree(1), false), "");
  EXPECT_EQ(again.build(3)->tree(tree(1)), base->tree(tree(1)));
}

TEST_F(TablesFromASnapshot, shares_no_ordinary_multicast) {
  TablesBuilder builder({}, *base);
  ASSERT_EQ(builder.add_tree(tree(2), 0, port(0), PortSet(0b0010)), "");
  EXPECT_NE(builder.set_shared(tree(2), true).find("tree 2: only the root may send"),
            std::string::npos);
  EXPECT_EQ(builder.set_shared(tree(2), false), "");
}

TEST_F(TablesFromASnapshot, counts_removed_trees_once) {
  TablesBuilder builder({}, *base);
  builder.remove_tree(tree(1));
  builder.remove_tree(tree(1));
  builder.remove_tree(tree(77));
  const auto changed = builder.build(2);
  EXPECT_EQ(changed->tree_count(), 1U);
  EXPECT_FALSE(changed->tree(tree(1)).valid);
  EXPECT_EQ(base->tree_count(), 2U);
}

TEST_F(TablesFromASnapshot, adds_routes_without_changing_the_snapshot) {
  TablesBuilder builder({}, *base);
  EXPECT_EQ(builder.add_route(Nid{7}, port(3)), "the route to NID 7 is there twice");
  EXPECT_EQ(builder.add_route(Nid{9}, port(3)), "");
  EXPECT_EQ(builder.add_route(Nid{10}, port(1)), "");
  const auto changed = builder.build(2);
  EXPECT_EQ(changed->route(Nid{7}), port(2));
  EXPECT_EQ(changed->route(Nid{9}), port(3));
  EXPECT_EQ(changed->route(Nid{10}), port(1));
  EXPECT_EQ(base->route(Nid{9}), no_port);
}

TEST_F(TablesFromASnapshot, gives_one_port_another_list_of_vnis) {
  auto vnis = std::make_shared<VniSet>();
  vnis->set(1024);
  TablesBuilder builder({}, *base);
  builder.set_vnis(port(2), vnis);
  const auto changed = builder.build(2);
  EXPECT_EQ(changed->port(port(2)).vnis, vnis);
  EXPECT_EQ(changed->port(port(1)).vnis, nullptr);
  EXPECT_EQ(base->port(port(2)).vnis, nullptr);
}

TEST(ProblemWithATree, names_what_no_entry_could_hold) {
  const PortSet child(0b10);
  EXPECT_EQ(problem_with_tree(6, 7, 3, 0, child), "");
  EXPECT_EQ(problem_with_tree(6, 8192, 3, 0, child),
            "tree 8192 does not exist: trees are numbered 0 to 8191");
  EXPECT_EQ(problem_with_tree(6, 7, 1U << 20, 0, child),
            "tree 7: wait count 1048576 is larger than 1048575");
  EXPECT_EQ(problem_with_tree(6, 7, 3, 256, child),
            "tree 7: parent port 256 does not exist: the switch has ports 0 to 5");
  EXPECT_EQ(problem_with_tree(6, 7, 3, 0, PortSet(1U << 9)),
            "tree 7: child port 9 does not exist: the switch has ports 0 to 5");
  EXPECT_EQ(problem_with_tree(6, 7, 3, 0, PortSet()), "tree 7 has no child port");
  EXPECT_EQ(problem_with_tree(6, 7, 3, 1, child),
            "tree 7: port 1 is both its parent and its child");
}

} // namespace
} // namespace tributary::core
