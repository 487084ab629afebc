// Permissions and source guards, which come and go with trees.
#include "coordinator_fixture.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tributary::transaction {
namespace {

using test::first_host_port;
using test::mesh_tree;

// ---- permissions ----

TEST_F(CoordinatorTest, APermissionStaysUntilTheLastTreeThatNeedsItIsGone) {
  const test::TreeTarget a = mesh_tree(TreeNumber{1}, vni, {{0, 0}, {1, 0}});
  const test::TreeTarget b = mesh_tree(TreeNumber{2}, vni, {{0, 0}, {1, 0}});
  fabric.set_tree(a);
  fabric.set_tree(b);
  fabric.run();
  EXPECT_TRUE(permits(s1, first_host_port + 1));
  fabric.remove_tree(a.number);
  fabric.run();
  EXPECT_TRUE(permits(s1, first_host_port + 1));
  fabric.remove_tree(b.number);
  fabric.run();
  EXPECT_FALSE(permits(s1, first_host_port + 1));
  EXPECT_TRUE(at(s0).permissions.empty());
}

TEST_F(CoordinatorTest, ATreeThatIsAskedForWhileTheLastOneGoesKeepsItsPermissions) {
  const test::TreeTarget a = mesh_tree(TreeNumber{1}, vni, {{0, 0}, {1, 0}});
  const test::TreeTarget b = mesh_tree(TreeNumber{2}, vni, {{0, 0}, {1, 0}});
  fabric.set_tree(a);
  fabric.run();
  fabric.remove_tree(a.number);
  for (int i = 0; i < 3; ++i) { // the removal is in transit
    for (const SwitchId s : {s0, s1}) {
      if (fabric.can_deliver_down(s.value)) {
        fabric.deliver_down(s.value);
      }
      if (!fabric.channels[s.value].up.empty()) {
        fabric.deliver_up(s.value);
      }
    }
  }
  const auto number = fabric.set_tree(b);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_TRUE(permits(s1, first_host_port + 1));
  EXPECT_TRUE(permits(s0, first_host_port));
}

TEST_F(CoordinatorTest, AnAbortedTreeLeavesNoPermission) {
  const test::TreeTarget a = mesh_tree(TreeNumber{1}, vni, {{0, 0}, {1, 0}});
  fabric.set_tree(a);
  fabric.run();
  fabric.channels[0].frozen = true;
  const auto number = fabric.set_tree(mesh_tree(TreeNumber{2}, vni, {{0, 0}, {1, 0}}));
  fabric.run();
  fabric.channels[0].frozen = false;
  fabric.remove_tree(a.number); // tree 2 still relies on tree 1's permissions
  fabric.break_channel(s1);
  fabric.connect(s1);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::refused);
  EXPECT_TRUE(at(s0).permissions.empty());
  EXPECT_TRUE(at(s1).permissions.empty());
}

// ---- source guards ----

TEST_F(CoordinatorTest, WithTheTreeEveryEdgePortIsGuardedForItsHost) {
  install_chain();
  for (const SwitchId s : {s0, s1, s2}) {
    EXPECT_EQ(guard(s, first_host_port + 1), test::host_edge(s, 1).nid) << s.value;
  }
  EXPECT_EQ(guard(s0, first_host_port), test::host_edge(s0).nid);
  fabric.remove_tree(tree7);
  fabric.run();
  for (const SwitchId s : {s0, s1, s2}) {
    EXPECT_TRUE(at(s).permissions.empty()) << s.value;
  }
}

TEST_F(CoordinatorTest, ASwitchThatComesBackWithAnotherGuardGetsTheRightOne) {
  install_chain();
  at(s1).permissions[{first_host_port + 1, vni.value}] = 99;
  fabric.break_channel(s1);
  fabric.connect(s1);
  fabric.run();
  EXPECT_EQ(guard(s1, first_host_port + 1), test::host_edge(s1, 1).nid);
  fabric.kill_switch(s1);
  fabric.connect(s1);
  fabric.run();
  EXPECT_EQ(guard(s1, first_host_port + 1), test::host_edge(s1, 1).nid);
}

TEST_F(CoordinatorTest, APortThatIsForTheMemberOfAnotherTreeIsRefusedByName) {
  install_chain();
  test::TreeTarget other = mesh_tree(TreeNumber{8}, Vni{5}, {{1, 1}});
  other.edges[0].nid = Nid{77};
  const auto number = fabric.set_tree(other);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::refused);
  EXPECT_EQ(ended(number).text,
            fmt::format("tree 8 is not installed: s1: port {} is for NID {}, of another group or "
                        "allocation, and takes no frames of NID 77 before that has ended",
                        first_host_port + 1, test::host_edge(s1, 1).nid->value));
  EXPECT_EQ(guard(s1, first_host_port + 1), test::host_edge(s1, 1).nid);
  fabric.remove_tree(tree7);
  fabric.run();
  const auto again = fabric.set_tree(other);
  fabric.run();
  EXPECT_EQ(ended(again).result, Result::committed);
  EXPECT_EQ(guard(s1, first_host_port + 1, Vni{5}), Nid{77});
}

TEST_F(CoordinatorTest, AMemberInThePlaceOfAnotherOfItsTreeTakesTheGuardOver) {
  install_chain();
  test::TreeTarget after = chain(2);
  after.edges[1].nid = Nid{77};
  fabric.set_tree(after);
  fabric.run();
  EXPECT_EQ(guard(after.edges[1].at.at, after.edges[1].at.port), Nid{77});

  test::TreeTarget refused = chain(3);
  refused.edges[1].nid = Nid{78};
  refuse_at(s0, "not today");
  const auto number = fabric.set_tree(refused);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::refused);
  at(s0).objection = nullptr;
  fabric.kill_switch(after.edges[1].at.at);
  fabric.connect(after.edges[1].at.at);
  fabric.run();
  EXPECT_EQ(guard(after.edges[1].at.at, after.edges[1].at.port), Nid{77});
}

} // namespace
} // namespace tributary::transaction
