// Trees that are installed and removed, and failures before the decision.
#include "coordinator_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::transaction {
namespace {

using test::FakeTree;
using test::first_host_port;

// ---- installing ----

TEST_F(CoordinatorTest, InstallsATreeInAllItsSwitchesAndNowhereElse) {
  const auto number = fabric.set_tree(chain(5));
  EXPECT_EQ(fabric.outcome(number), nullptr) << "no switch has answered yet";
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).purpose, Purpose::install);
  EXPECT_TRUE(ended(number).out_of_sync.empty());
  EXPECT_EQ(ended(number).text, "tree 7 is installed");
  const std::uint64_t child_1_and_host = 1U << 1U | std::uint64_t{1} << (first_host_port + 1U);
  EXPECT_EQ(at(s0).trees.at(7), (FakeTree{first_host_port, child_1_and_host, 5}));
  EXPECT_EQ(at(s1).trees.at(7).parent, 0U);
  EXPECT_EQ(at(s2).trees.at(7).parent, 1U);
  EXPECT_FALSE(has_tree(s3));
  EXPECT_TRUE(permits(s0, first_host_port));
  EXPECT_TRUE(permits(s2, first_host_port + 1));
  EXPECT_NE(fabric.wanted(tree7), nullptr);
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
  EXPECT_EQ(fabric.wanted(tree7), nullptr);
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
  EXPECT_EQ(fabric.wanted(tree7), nullptr);
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
  EXPECT_EQ(*fabric.wanted(tree7), transaction::Target(chain()));
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
    std::function<void(test::TreeTarget&)> inject;
    const char* text;
  };
  const Case cases[] = {
      {"tree number", [](test::TreeTarget& t) { t.number = TreeNumber{5000}; },
       "tree 5000 is not installed: s1: its table holds 4096 trees; no number 5000"},
      {"tree number at all", [](test::TreeTarget& t) { t.number = TreeNumber{8192}; },
       "tree 8192 is not installed: tree numbers end at 8191"},
      {"parent port", [](test::TreeTarget& t) { t.parts[1].parent = 64; },
       "tree 7 is not installed: s1: port 64 does not exist; the switch has ports 0 to 63"},
      {"child port", [](test::TreeTarget& t) { t.parts[2].children.push_back(300); },
       "tree 7 is not installed: s2: port 300 does not exist; the switch has ports 0 to 63"},
      {"edge port", [](test::TreeTarget& t) { t.edges[0].at.port = 99; },
       "tree 7 is not installed: s0: port 99 does not exist; the switch has ports 0 to 63"},
      {"wait count", [](test::TreeTarget& t) { t.parts[0].wait_count = 1U << 20U; },
       "tree 7 is not installed: s0: it would wait for 1048576 contributions; a frame can count "
       "1048575"},
      {"parent as child", [](test::TreeTarget& t) { t.parts[1].children.push_back(0); },
       "tree 7 is not installed: s1: port 0 is the parent and a child"},
      {"twice", [](test::TreeTarget& t) { t.parts.push_back(t.parts[2]); },
       "tree 7 is not installed: s2: it is listed twice"},
      {"unknown switch", [](test::TreeTarget& t) { t.parts[2].at = SwitchId{77}; },
       "tree 7 is not installed: the graph has no switch 77"},
      {"empty", [](test::TreeTarget& t) { t.parts.clear(); },
       "tree 7 is not installed: it has no switch"},
      {"file's", [](test::TreeTarget& t) { t.number = TreeNumber{3}; },
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
    test::TreeTarget target = chain();
    c.inject(target);
    const auto number = fabric.set_tree(target);
    EXPECT_EQ(ended(number).result, Result::refused) << c.what;
    EXPECT_EQ(ended(number).text, c.text) << c.what;
    for (const auto& channel : fabric.channels) {
      EXPECT_TRUE(channel.down.empty()) << c.what;
    }
  }
}

} // namespace
} // namespace tributary::transaction
