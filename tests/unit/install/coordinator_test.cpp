#include "controlplane/install/coordinator.hpp"

#include "fabric.hpp"
#include "trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tributary::install {
namespace {

using test::Fabric;
using test::FakeTree;
using test::first_host_port;
using test::full_mesh;
using test::mesh_tree;

constexpr TreeNumber tree7{7};
constexpr Vni vni{1024};
constexpr SwitchId s0{0};
constexpr SwitchId s1{1};
constexpr SwitchId s2{2};
constexpr SwitchId s3{3};

/// Root at switch 0, below it 1, below that 2.
TreeTarget chain(ContributionCount wait_count = 1) {
  return mesh_tree(tree7, vni, {{0, 0}, {1, 0}, {2, 1}}, wait_count);
}

/// Four switches, all connected, all cabled to each other.
class CoordinatorTest : public ::testing::Test {
protected:
  CoordinatorTest() { fabric.connect_all(); }

  test::FakeSwitch& at(SwitchId s) { return *fabric.switches[s.value]; }
  [[nodiscard]] bool has_tree(SwitchId s, TreeNumber tree = tree7) {
    return at(s).trees.contains(tree.value);
  }
  [[nodiscard]] bool permits(SwitchId s, topology::Port port, Vni v = vni) {
    return at(s).permissions.contains({port, v.value});
  }
  [[nodiscard]] unsigned holders() {
    return static_cast<unsigned>(
        std::count_if(fabric.switches.begin(), fabric.switches.end(),
                      [](const auto& s) { return s->trees.contains(tree7.value); }));
  }
  const Outcome& ended(TransactionNumber number) {
    const Outcome* outcome = fabric.outcome(number);
    EXPECT_NE(outcome, nullptr) << "transaction " << number.value << " has not ended";
    static const Outcome none{};
    return outcome == nullptr ? none : *outcome;
  }
  const Outcome& install_chain() {
    const auto number = fabric.set_tree(chain());
    fabric.run();
    return ended(number);
  }
  void refuse_at(SwitchId s, std::string why) {
    at(s).objection = [why = std::move(why)](const control::Prepare&) { return why; };
  }
  /// Everything that waits for this switch, and its answers.
  void run_only(SwitchId s) {
    while (fabric.can_deliver_down(s.value)) {
      fabric.deliver_down(s.value);
    }
    while (!fabric.channels[s.value].up.empty()) {
      fabric.deliver_up(s.value);
    }
  }

  Fabric fabric{full_mesh(4)};
};

// ---- installing ----

TEST_F(CoordinatorTest, InstallsATreeInAllItsSwitchesAndNowhereElse) {
  const auto number = fabric.set_tree(chain(5));
  EXPECT_EQ(fabric.outcome(number), nullptr) << "nobody has answered yet";
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).purpose, Purpose::install);
  EXPECT_TRUE(ended(number).behind.empty());
  EXPECT_EQ(ended(number).text, "tree 7 is installed");
  const std::uint64_t child_1_and_host = 1U << 1U | std::uint64_t{1} << (first_host_port + 1U);
  EXPECT_EQ(at(s0).trees.at(7), (FakeTree{first_host_port, child_1_and_host, 5}));
  EXPECT_EQ(at(s1).trees.at(7).parent, 0U);
  EXPECT_EQ(at(s2).trees.at(7).parent, 1U);
  EXPECT_FALSE(has_tree(s3));
  EXPECT_TRUE(permits(s0, first_host_port));
  EXPECT_TRUE(permits(s2, first_host_port + 1));
  EXPECT_NE(fabric.coordinator->wanted(tree7), nullptr);
}

TEST_F(CoordinatorTest, CommitsNowhereBeforeAllHavePrepared) {
  fabric.set_tree(chain());
  run_only(s1);
  run_only(s2);
  EXPECT_EQ(holders(), 0U);
  EXPECT_TRUE(fabric.channels[2].down.empty()) << "switch 0 has not answered";
  run_only(s0);
  EXPECT_FALSE(fabric.channels[2].down.empty());
}

TEST_F(CoordinatorTest, CommitsFromTheLeavesUpTheRootsSwitchLast) {
  fabric.set_tree(chain());
  std::vector<std::string> order;
  for (const SwitchId s : {s0, s1, s2}) {
    at(s).on_change = [&, s](const control::Change& change) {
      if (change.kind_case() == control::Change::kSetTree) {
        order.push_back(at(s).name());
      }
    };
  }
  fabric.run();
  EXPECT_EQ(order, (std::vector<std::string>{"s2", "s1", "s0"}));
}

TEST_F(CoordinatorTest, RemovesFromTheRootsSwitchDown) {
  install_chain();
  std::vector<std::string> order;
  for (const SwitchId s : {s0, s1, s2}) {
    at(s).on_change = [&, s](const control::Change& change) {
      if (change.kind_case() == control::Change::kRemoveTree) {
        order.push_back(at(s).name());
      }
    };
  }
  const auto number = fabric.remove_tree(tree7);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(order, (std::vector<std::string>{"s0", "s1", "s2"}));
  EXPECT_EQ(fabric.coordinator->wanted(tree7), nullptr);
}

TEST_F(CoordinatorTest, NumbersCarryTheEpochAndRise) {
  const auto first = fabric.set_tree(chain());
  const auto next = fabric.remove_tree(tree7);
  EXPECT_EQ(first.value >> 32U, 1U);
  EXPECT_GT(next, first);
}

TEST_F(CoordinatorTest, RemovingATreeThatIsNotThereSucceedsWithoutAMessage) {
  const auto number = fabric.remove_tree(tree7);
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_TRUE(fabric.channels[0].down.empty());
}

TEST_F(CoordinatorTest, SettingWhatIsThereAlreadySucceedsWithoutAMessage) {
  install_chain();
  const auto number = fabric.set_tree(chain());
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_TRUE(fabric.channels[0].down.empty());
}

// ---- refusals and losses before the decision ----

TEST_F(CoordinatorTest, ARefusalAbortsEverywhereAndIsQuoted) {
  refuse_at(s1, "the table is full");
  const auto number = fabric.set_tree(chain());
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::refused);
  EXPECT_EQ(ended(number).blamed, (std::vector{s1}));
  EXPECT_EQ(ended(number).text, "tree 7 is not installed: s1: the table is full");
  EXPECT_EQ(holders(), 0U);
  for (const SwitchId s : {s0, s1, s2}) {
    EXPECT_TRUE(at(s).prepared.empty()) << at(s).name();
    EXPECT_TRUE(at(s).permissions.empty()) << at(s).name();
  }
  EXPECT_EQ(fabric.coordinator->wanted(tree7), nullptr);
}

TEST_F(CoordinatorTest, ARefusedChangeLeavesTheOldTree) {
  install_chain();
  const auto before = at(s0).trees.at(7);
  refuse_at(s2, "no");
  const auto number = fabric.set_tree(chain(9));
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::refused);
  EXPECT_EQ(ended(number).text, "tree 7 is not changed: s2: no");
  EXPECT_EQ(at(s0).trees.at(7), before);
  EXPECT_EQ(fabric.coordinator->wanted(tree7)->parts, chain().parts);
}

TEST_F(CoordinatorTest, ASwitchThatIsLostBeforeTheDecisionAbortsIt) {
  const auto number = fabric.set_tree(chain());
  run_only(s1);
  fabric.break_channel(s1);
  EXPECT_EQ(ended(number).result, Result::refused);
  EXPECT_EQ(ended(number).text, "tree 7 is not installed: s1 is lost: the channel broke");
  fabric.run();
  EXPECT_EQ(holders(), 0U);
  EXPECT_TRUE(at(s0).prepared.empty());
}

TEST_F(CoordinatorTest, ASwitchThatDoesNotPrepareInTimeAbortsItAndIsNamed) {
  fabric.channels[1].frozen = true;
  const auto number = fabric.set_tree(chain());
  fabric.run();
  const TimeNs deadline = fabric.coordinator->next_deadline();
  EXPECT_EQ(elapsed_ns(deadline, fabric.now), 2 * ns_per_second);
  fabric.advance(2 * ns_per_second - 1);
  EXPECT_EQ(fabric.outcome(number), nullptr);
  fabric.advance(1);
  EXPECT_EQ(ended(number).result, Result::timed_out);
  EXPECT_EQ(ended(number).blamed, (std::vector{s1}));
  EXPECT_EQ(ended(number).text, "tree 7 is not installed: no answer from s1 within 2000 ms");
  EXPECT_TRUE(fabric.coordinator->is_connected(s1)) << "slow is not lost";
  fabric.channels[1].frozen = false;
  fabric.run();
  EXPECT_EQ(holders(), 0U);
  EXPECT_TRUE(at(s1).prepared.empty()) << "the late Prepared was followed by Abort";
  EXPECT_EQ(fabric.coordinator->next_deadline(), never);
}

TEST_F(CoordinatorTest, ASwitchThatIsNotConnectedIsNamedBeforeAnythingIsSent) {
  fabric.break_channel(s2);
  const auto number = fabric.set_tree(chain());
  EXPECT_EQ(ended(number).result, Result::refused);
  EXPECT_EQ(ended(number).text, "tree 7 is not installed: s2: it is not connected");
  EXPECT_TRUE(fabric.channels[0].down.empty());
}

// ---- limits ----

TEST_F(CoordinatorTest, WhatNoTableCanHoldIsRefusedBeforeAnythingIsSent) {
  struct Case {
    const char* what;
    std::function<void(TreeTarget&)> spoil;
    const char* text;
  };
  const Case cases[] = {
      {"tree number", [](TreeTarget& t) { t.number = TreeNumber{5000}; },
       "tree 5000 is not installed: s1: its table holds 4096 trees; there is no number 5000"},
      {"tree number at all", [](TreeTarget& t) { t.number = TreeNumber{8192}; },
       "tree 8192 is not installed: tree numbers end at 8191"},
      {"parent port", [](TreeTarget& t) { t.parts[1].parent = 64; },
       "tree 7 is not installed: s1: port 64 does not exist; the switch has ports 0 to 63"},
      {"child port", [](TreeTarget& t) { t.parts[2].children.push_back(300); },
       "tree 7 is not installed: s2: port 300 does not exist; the switch has ports 0 to 63"},
      {"edge port", [](TreeTarget& t) { t.edges[0].port = 99; },
       "tree 7 is not installed: s0: port 99 does not exist; the switch has ports 0 to 63"},
      {"wait count", [](TreeTarget& t) { t.parts[0].wait_count = 1U << 20U; },
       "tree 7 is not installed: s0: it would wait for 1048576 contributions; a frame can count "
       "1048575"},
      {"parent as child", [](TreeTarget& t) { t.parts[1].children.push_back(0); },
       "tree 7 is not installed: s1: port 0 is the parent and a child"},
      {"twice", [](TreeTarget& t) { t.parts.push_back(t.parts[2]); },
       "tree 7 is not installed: s2: it stands in the tree twice"},
      {"unknown switch", [](TreeTarget& t) { t.parts[2].at = SwitchId{77}; },
       "tree 7 is not installed: the graph has no switch 77"},
      {"empty", [](TreeTarget& t) { t.parts.clear(); },
       "tree 7 is not installed: it has no switch"},
      {"file's", [](TreeTarget& t) { t.number = TreeNumber{3}; },
       "tree 3 is not installed: s0: the switch's own file has tree 3; it is not the manager's to "
       "change"},
  };
  at(s1).tree_limit = 4096;
  at(s0).file_trees[3] = {};
  for (const SwitchId s : {s0, s1}) {
    fabric.break_channel(s);
    fabric.connect(s);
  }
  for (const Case& c : cases) {
    TreeTarget target = chain();
    c.spoil(target);
    const auto number = fabric.set_tree(target);
    EXPECT_EQ(ended(number).result, Result::refused) << c.what;
    EXPECT_EQ(ended(number).text, c.text) << c.what;
    for (const auto& channel : fabric.channels) {
      EXPECT_TRUE(channel.down.empty()) << c.what;
    }
  }
}

// ---- losses after the decision ----

TEST_F(CoordinatorTest, ASwitchLostAfterTheDecisionGetsItWhenItIsBack) {
  const auto number = fabric.set_tree(chain());
  run_only(s0);
  run_only(s1);
  run_only(s2); // the last to prepare
  run_only(s2); // and the first to commit
  EXPECT_TRUE(has_tree(s2));
  fabric.break_channel(s1);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).behind, (std::vector{s1}));
  EXPECT_EQ(ended(number).text, "tree 7 is installed; still behind: s1");
  EXPECT_TRUE(has_tree(s0));
  EXPECT_FALSE(has_tree(s1));
  fabric.connect(s1);
  fabric.run();
  EXPECT_TRUE(has_tree(s1));
  EXPECT_TRUE(permits(s1, first_host_port + 1));
  EXPECT_TRUE(fabric.coordinator->behind(tree7).empty());
  EXPECT_EQ(fabric.outcomes.back().purpose, Purpose::reconcile);
  EXPECT_EQ(fabric.outcomes.back().result, Result::committed);
}

TEST_F(CoordinatorTest, ASwitchThatDoesNotCommitLosesItsSession) {
  const auto number = fabric.set_tree(chain());
  for (const SwitchId s : {s0, s1, s2}) {
    fabric.deliver_down(s.value);
    fabric.deliver_up(s.value);
  }
  fabric.channels[2].frozen = true;
  fabric.advance(5 * ns_per_second);
  EXPECT_EQ(fabric.closures, 1U);
  EXPECT_FALSE(fabric.coordinator->is_connected(s2));
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).behind, (std::vector{s2}));
}

TEST_F(CoordinatorTest, ARemovalIsNotStoppedByLostSwitches) {
  install_chain();
  fabric.break_channel(s1);
  const auto number = fabric.remove_tree(tree7);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).behind, (std::vector{s1}));
  EXPECT_TRUE(has_tree(s1)) << "it keeps forwarding";
  EXPECT_FALSE(has_tree(s0));
  fabric.connect(s1);
  fabric.run();
  EXPECT_FALSE(has_tree(s1));
  EXPECT_TRUE(at(s1).permissions.empty());
}

TEST_F(CoordinatorTest, ARemovalGivesUpOnASwitchThatDoesNotAnswer) {
  install_chain();
  fabric.channels[1].frozen = true;
  const auto number = fabric.remove_tree(tree7);
  fabric.run();
  EXPECT_EQ(fabric.outcome(number), nullptr);
  fabric.advance(2 * ns_per_second);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).behind, (std::vector{s1}));
  EXPECT_EQ(fabric.closures, 1U);
}

// ---- changing ----

TEST_F(CoordinatorTest, AChangeTellsOnlySwitchesWhoseTableChanges) {
  install_chain();
  // 2 moves from 1 to 0: 1 stays as a leaf.
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {1, 0}, {2, 0}, {3, 1}}));
  EXPECT_FALSE(fabric.channels[3].down.empty());
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).purpose, Purpose::change);
  EXPECT_EQ(at(s2).trees.at(7).parent, 0U);
  EXPECT_EQ(at(s3).trees.at(7).parent, 1U);

  const auto again = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {1, 0}, {2, 0}, {3, 2}}));
  EXPECT_TRUE(fabric.channels[0].down.empty()) << "the root's switch keeps its entry";
  fabric.run();
  EXPECT_EQ(ended(again).result, Result::committed);
  EXPECT_EQ(at(s3).trees.at(7).parent, 2U);
}

TEST_F(CoordinatorTest, AChangeIsNotDelayedByASwitchThatOnlyLosesTheTree) {
  install_chain();
  fabric.channels[1].frozen = true; // it is dead, and the channel does not know it yet
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {2, 0}}));
  fabric.run();
  EXPECT_EQ(at(s2).trees.at(7).parent, 0U) << "the new tree is in force";
  EXPECT_EQ(fabric.outcome(number), nullptr) << "the old one is not gone";
  fabric.advance(5 * ns_per_second);
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).behind, (std::vector{s1}));
}

TEST_F(CoordinatorTest, SwitchesThatChangePlacesAreEmptiedFirst) {
  install_chain();
  bool both = false;
  bool neither = false;
  const auto look = [&](const control::Change&) {
    const bool one = has_tree(s1) && at(s1).trees.at(7).parent == 2U;
    const bool two = has_tree(s2) && at(s2).trees.at(7).parent == 1U;
    both = both || (one && two);
    neither = neither || (!has_tree(s1) && !has_tree(s2));
  };
  for (const SwitchId s : {s0, s1, s2}) {
    at(s).on_change = look;
  }
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {2, 0}, {1, 2}}));
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_FALSE(both) << "1 -> 2 -> 1";
  EXPECT_TRUE(neither);
  EXPECT_EQ(at(s1).trees.at(7).parent, 2U);
  EXPECT_EQ(at(s2).trees.at(7).parent, 0U);
}

TEST_F(CoordinatorTest, AnEntryThatCouldCloseALoopWithALostSwitchWaitsForIt) {
  install_chain(); // 2 -> 1 -> 0
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {2, 0}, {1, 2}}));
  for (const SwitchId s : {s0, s1, s2}) { // all prepare both halves
    fabric.deliver_down(s.value);
    fabric.deliver_down(s.value);
    fabric.deliver_up(s.value);
    fabric.deliver_up(s.value);
  }
  fabric.break_channel(s2); // decided; 2 still points to 1
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).behind, (std::vector{s1, s2}));
  EXPECT_EQ(at(s2).trees.at(7).parent, 1U) << "it goes on with what it has";
  EXPECT_FALSE(has_tree(s1)) << "1 -> 2 would be a loop";
  fabric.connect(s2);
  fabric.run();
  EXPECT_EQ(at(s2).trees.at(7).parent, 0U);
  EXPECT_EQ(at(s1).trees.at(7).parent, 2U);
  EXPECT_TRUE(fabric.coordinator->behind(tree7).empty());
}

// ---- many at once ----

TEST_F(CoordinatorTest, TransactionsOnOneTreeRunOneAfterAnother) {
  const auto first = fabric.set_tree(chain(1));
  const auto next = fabric.set_tree(chain(2));
  const auto last = fabric.remove_tree(tree7);
  const auto views = fabric.coordinator->transactions();
  ASSERT_EQ(views.size(), 3U);
  EXPECT_EQ(views[0].state, TransactionState::preparing);
  EXPECT_EQ(views[0].waits_for.size(), 3U);
  EXPECT_EQ(views[1].state, TransactionState::queued);
  fabric.run();
  EXPECT_EQ(ended(first).result, Result::committed);
  EXPECT_EQ(ended(next).purpose, Purpose::change);
  EXPECT_EQ(ended(last).result, Result::committed);
  EXPECT_EQ(holders(), 0U);
}

TEST_F(CoordinatorTest, TransactionsOnDifferentTreesDoNotWaitForEachOther) {
  fabric.set_tree(mesh_tree(TreeNumber{1}, vni, {{0, 0}, {1, 0}}));
  const auto other = fabric.set_tree(mesh_tree(TreeNumber{2}, vni, {{2, 2}, {3, 2}}));
  fabric.channels[0].frozen = true;
  fabric.run();
  EXPECT_EQ(ended(other).result, Result::committed);
}

TEST_F(CoordinatorTest, EndedTransactionsAreShownTheLatestFirst) {
  install_chain();
  fabric.remove_tree(tree7);
  fabric.run();
  const auto views = fabric.coordinator->transactions();
  ASSERT_GE(views.size(), 2U);
  EXPECT_TRUE(std::any_of(views.begin(), views.end(), [](const TransactionView& v) {
    return v.purpose == Purpose::remove && v.text == "tree 7 is removed" && v.waits_for.empty();
  }));
  EXPECT_EQ(views.back().purpose, Purpose::install);
  EXPECT_EQ(name(views.back().state), "committed");
}

// ---- permissions ----

TEST_F(CoordinatorTest, APermissionStaysUntilTheLastTreeThatNeedsItIsGone) {
  const TreeTarget a = mesh_tree(TreeNumber{1}, vni, {{0, 0}, {1, 0}});
  const TreeTarget b = mesh_tree(TreeNumber{2}, vni, {{0, 0}, {1, 0}});
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
  const TreeTarget a = mesh_tree(TreeNumber{1}, vni, {{0, 0}, {1, 0}});
  const TreeTarget b = mesh_tree(TreeNumber{2}, vni, {{0, 0}, {1, 0}});
  fabric.set_tree(a);
  fabric.run();
  fabric.remove_tree(a.number);
  for (int i = 0; i < 3; ++i) { // the removal is somewhere on its way
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
  const TreeTarget a = mesh_tree(TreeNumber{1}, vni, {{0, 0}, {1, 0}});
  fabric.set_tree(a);
  fabric.run();
  fabric.channels[0].frozen = true;
  const auto number = fabric.set_tree(mesh_tree(TreeNumber{2}, vni, {{0, 0}, {1, 0}}));
  fabric.run();
  fabric.channels[0].frozen = false;
  fabric.remove_tree(a.number); // tree 2 still counts on what tree 1 has brought
  fabric.break_channel(s1);
  fabric.connect(s1);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::refused);
  EXPECT_TRUE(at(s0).permissions.empty());
  EXPECT_TRUE(at(s1).permissions.empty());
}

// ---- reconciliation ----

TEST_F(CoordinatorTest, ASwitchThatRestartsEmptyGetsEverythingBack) {
  install_chain();
  fabric.kill_switch(s1);
  EXPECT_FALSE(has_tree(s1));
  fabric.connect(s1);
  fabric.run();
  EXPECT_TRUE(has_tree(s1));
  EXPECT_TRUE(permits(s1, first_host_port + 1));
}

TEST_F(CoordinatorTest, ASwitchThatComesBackWithOldTablesIsBroughtToWhatIsWanted) {
  install_chain();
  at(s1).trees[7].wait_count = 99; // differs
  at(s1).trees[8] = {1, 2, 3};     // nobody wants it
  at(s1).permissions.emplace(5, 77);
  fabric.break_channel(s1);
  fabric.connect(s1);
  fabric.run();
  EXPECT_EQ(at(s1).trees.at(7).wait_count, 1U);
  EXPECT_FALSE(at(s1).trees.contains(8));
  EXPECT_FALSE(at(s1).permissions.contains({5, 77}));
}

TEST_F(CoordinatorTest, ASwitchThatHasWhatIsWantedIsSentNothing) {
  install_chain();
  fabric.break_channel(s1);
  fabric.connect(s1);
  EXPECT_TRUE(fabric.channels[1].down.empty());
}

TEST_F(CoordinatorTest, TreesOfAFileAreReportedAndNotTouched) {
  at(s1).file_trees[12] = {1, 2, 3};
  fabric.break_channel(s1);
  fabric.connect(s1);
  fabric.run();
  EXPECT_EQ(fabric.coordinator->reserved_trees(), (std::set{TreeNumber{12}}));
  EXPECT_TRUE(at(s1).file_trees.contains(12));
}

TEST_F(CoordinatorTest, AFileThatTakesTheNumberOfAnInstalledTreeIsReportedOnce) {
  install_chain();
  at(s1).restart();
  at(s1).file_trees[7] = {1, 2, 3};
  fabric.break_channel(s1);
  fabric.outcomes.clear();
  fabric.connect(s1);
  fabric.run();
  unsigned refusals = 0;
  for (const Outcome& o : fabric.outcomes) {
    refusals += o.result == Result::refused && o.tree == tree7;
  }
  EXPECT_EQ(refusals, 1U);
  EXPECT_EQ(fabric.coordinator->behind(tree7), (std::vector{s1}));
}

TEST_F(CoordinatorTest, OneTreeThatASwitchRefusesDoesNotKeepTheOthersAway) {
  for (std::uint16_t n = 1; n <= 5; ++n) {
    fabric.set_tree(mesh_tree(TreeNumber{n}, vni, {{0, 0}, {1, 0}}));
  }
  fabric.run();
  fabric.kill_switch(s1);
  at(s1).objection = [](const control::Prepare& prepare) -> std::string {
    for (const control::Change& change : prepare.changes()) {
      if (change.set_tree().number() == 3) {
        return "not tree 3";
      }
    }
    return "";
  };
  fabric.outcomes.clear();
  fabric.connect(s1);
  fabric.run();
  EXPECT_EQ(at(s1).trees.size(), 4U);
  EXPECT_TRUE(permits(s1, first_host_port + 1));
  EXPECT_EQ(fabric.coordinator->behind(TreeNumber{3}), (std::vector{s1}));
  EXPECT_TRUE(std::any_of(fabric.outcomes.begin(), fabric.outcomes.end(), [](const Outcome& o) {
    return o.tree == TreeNumber{3} && o.result == Result::refused &&
           o.text == "s1 has not got 1 change towards what is wanted: s1: not tree 3";
  }));
}

TEST_F(CoordinatorTest, AManagerThatRestartsFindsEverythingInPlace) {
  install_chain();
  fabric.kill_manager();
  fabric.start_manager(std::vector{chain()});
  EXPECT_EQ(fabric.coordinator->behind(tree7).size(), 3U) << "nobody has been heard";
  fabric.connect_all();
  EXPECT_TRUE(fabric.coordinator->behind(tree7).empty());
  EXPECT_TRUE(fabric.coordinator->transactions().empty()) << "nothing differs";
  const auto number = fabric.remove_tree(tree7);
  EXPECT_EQ(number.value >> 32U, 2U);
  fabric.run();
  EXPECT_EQ(holders(), 0U);
  EXPECT_TRUE(at(s0).permissions.empty());
}

TEST_F(CoordinatorTest, AManagerThatDiesBetweenPrepareAndCommitLeavesNothing) {
  fabric.set_tree(chain());
  fabric.deliver_all_down();
  EXPECT_EQ(at(s1).prepared.size(), 1U) << "the fault has to happen in between";
  fabric.kill_manager();
  fabric.start_manager({});
  fabric.connect_all();
  fabric.run();
  EXPECT_EQ(holders(), 0U);
  EXPECT_TRUE(at(s1).prepared.empty());
  EXPECT_TRUE(at(s1).permissions.empty());
}

TEST_F(CoordinatorTest, ASwitchThatARestartedManagerHasNotHeardMayPointAnywhere) {
  const TreeTarget old = mesh_tree(tree7, vni, {{0, 0}, {3, 0}, {2, 3}, {1, 2}});
  fabric.set_tree(old); // 1 -> 2 -> 3 -> 0
  fabric.run();
  fabric.kill_manager();
  fabric.start_manager(std::vector{old});
  for (const SwitchId s : {s0, s1, s3}) { // 2 forwards, and nobody knows where to
    fabric.connect(s);
  }
  bool circle = false;
  for (const SwitchId s : {s1, s3}) {
    at(s).on_change = [&](const control::Change&) {
      circle = circle || (has_tree(s1) && at(s1).trees.at(7).parent == 2U && has_tree(s3) &&
                          at(s3).trees.at(7).parent == 1U);
    };
  }
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {1, 0}, {3, 1}}));
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).behind, (std::vector{s2}));
  EXPECT_EQ(at(s3).trees.at(7).parent, 1U);
  EXPECT_FALSE(circle) << "3 -> 1 -> 2 -> 3";
}

TEST_F(CoordinatorTest, ATransactionWaitsForTheReconciliationOfItsTree) {
  install_chain();
  fabric.kill_switch(s1);
  fabric.connect(s1); // tree 7 is on its way to it
  const auto number = fabric.set_tree(chain(4));
  EXPECT_EQ(fabric.coordinator->transactions()[1].state, TransactionState::queued);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(at(s1).trees.at(7).wait_count, 4U);
}

TEST_F(CoordinatorTest, MessagesOfAnOldSessionAreIgnored) {
  const auto number = fabric.set_tree(chain());
  const SessionNumber old = *fabric.channels[1].session;
  control::SwitchMessage refusal;
  refusal.mutable_refused()->set_transaction(number.value);
  fabric.connect(s3); // dials again: its old session is over
  fabric.coordinator->receive(s1, SessionNumber{old.value + 1000}, refusal, fabric.now);
  fabric.coordinator->lost(s1, SessionNumber{old.value + 1000}, "late news", fabric.now);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
}

TEST_F(CoordinatorTest, AnswersNobodyAskedForAreIgnored) {
  const auto number = fabric.set_tree(chain());
  const SessionNumber session = *fabric.channels[1].session;
  control::SwitchMessage early;
  early.mutable_committed()->set_transaction(number.value);
  fabric.coordinator->receive(s1, session, early, fabric.now);
  control::SwitchMessage stray;
  stray.mutable_prepared()->set_transaction(424242);
  fabric.coordinator->receive(s1, session, stray, fabric.now);
  fabric.coordinator->receive(s1, session, control::SwitchMessage{}, fabric.now);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_TRUE(has_tree(s1));
}

} // namespace
} // namespace tributary::install
