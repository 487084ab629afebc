// Switches that are lost after the decision, and the reconciliation when they or the manager
// return.
#include "coordinator_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tributary::transaction {
namespace {

using test::first_host_port;
using test::mesh_tree;

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
  EXPECT_EQ(ended(number).out_of_sync, (std::vector{s1}));
  EXPECT_EQ(ended(number).text, "tree 7 is installed; out of sync: s1");
  EXPECT_TRUE(has_tree(s0));
  EXPECT_FALSE(has_tree(s1));
  fabric.connect(s1);
  fabric.run();
  EXPECT_TRUE(has_tree(s1));
  EXPECT_TRUE(permits(s1, first_host_port + 1));
  EXPECT_TRUE(fabric.out_of_sync(tree7).empty());
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
  EXPECT_EQ(ended(number).out_of_sync, (std::vector{s2}));
}

TEST_F(CoordinatorTest, ARemovalIsNotStoppedByLostSwitches) {
  install_chain();
  fabric.break_channel(s1);
  const auto number = fabric.remove_tree(tree7);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).out_of_sync, (std::vector{s1}));
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
  EXPECT_EQ(ended(number).out_of_sync, (std::vector{s1}));
  EXPECT_EQ(fabric.closures, 1U);
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
  at(s1).trees[8] = {1, 2, 3};     // no tree needs it
  at(s1).permissions[{5, 77}] = 9;
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

TEST_F(CoordinatorTest, TreesOfAFileAreNotTouched) {
  at(s1).file_trees[12] = {1, 2, 3};
  fabric.break_channel(s1);
  fabric.connect(s1);
  fabric.run();
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
    refusals += o.result == Result::refused && o.subject == trees::subject_of(tree7);
  }
  EXPECT_EQ(refusals, 1U);
  EXPECT_EQ(fabric.out_of_sync(tree7), (std::vector{s1}));
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
  EXPECT_EQ(fabric.out_of_sync(TreeNumber{3}), (std::vector{s1}));
  EXPECT_TRUE(std::any_of(fabric.outcomes.begin(), fabric.outcomes.end(), [](const Outcome& o) {
    return o.subject == trees::subject_of(TreeNumber{3}) && o.result == Result::refused &&
           o.text == "s1: 1 table update not applied: s1: not tree 3";
  }));
}

TEST_F(CoordinatorTest, AManagerThatRestartsFindsEverythingInPlace) {
  install_chain();
  fabric.kill_manager();
  fabric.start_manager(std::vector<Target>{chain()});
  EXPECT_EQ(fabric.out_of_sync(tree7).size(), 3U) << "no switch has been heard";
  fabric.connect_all();
  EXPECT_TRUE(fabric.out_of_sync(tree7).empty());
  EXPECT_TRUE(fabric.coordinator->transactions().empty()) << "nothing differs";
  const auto number = fabric.remove_tree(tree7);
  EXPECT_EQ(number.value >> 32U, 2U);
  fabric.run();
  EXPECT_EQ(holders(), 0U);
  EXPECT_TRUE(at(s0).permissions.empty());
}

TEST_F(CoordinatorTest, WhatIsUndecidedStaysUntilATransactionOnItIsDecided) {
  install_chain();
  fabric.kill_manager();
  fabric.start_manager({});
  fabric.coordinator->leave_undecided(trees::subject_of(tree7));
  fabric.connect_all();
  fabric.run();
  EXPECT_EQ(holders(), 3U) << "it is not known yet whether it is wanted";
  refuse_at(s1, "not now");
  const auto refused = fabric.set_tree(chain(2));
  fabric.run();
  EXPECT_EQ(ended(refused).result, Result::refused);
  fabric.break_channel(s0);
  fabric.connect(s0);
  fabric.run();
  EXPECT_EQ(holders(), 3U) << "that one decided nothing";
  EXPECT_EQ(at(s2).trees.at(7).wait_count, 1U);
  at(s1).objection = {};
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {1, 0}}));
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(holders(), 2U) << "the third one loses what is not wanted";
}

TEST_F(CoordinatorTest, WhatIsUndecidedGoesWhenItsRemovalIsDecided) {
  install_chain();
  fabric.kill_manager();
  fabric.start_manager({});
  fabric.coordinator->leave_undecided(trees::subject_of(tree7));
  fabric.connect_all();
  fabric.break_channel(s2);
  fabric.remove_tree(tree7);
  fabric.run();
  EXPECT_EQ(holders(), 1U);
  fabric.connect(s2);
  fabric.run();
  EXPECT_EQ(holders(), 0U);
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
  const Target old = mesh_tree(tree7, vni, {{0, 0}, {3, 0}, {2, 3}, {1, 2}});
  fabric.set_tree(old); // 1 -> 2 -> 3 -> 0
  fabric.run();
  fabric.kill_manager();
  fabric.start_manager(std::vector{old});
  for (const SwitchId s : {s0, s1, s3}) { // 2 forwards, to an unknown parent
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
  EXPECT_EQ(ended(number).out_of_sync, (std::vector{s2}));
  EXPECT_EQ(at(s3).trees.at(7).parent, 1U);
  EXPECT_FALSE(circle) << "3 -> 1 -> 2 -> 3";
}

TEST_F(CoordinatorTest, ATransactionWaitsForTheReconciliationOfItsTree) {
  install_chain();
  fabric.kill_switch(s1);
  fabric.connect(s1); // tree 7 is in transit to it
  const auto number = fabric.set_tree(chain(4));
  EXPECT_EQ(fabric.coordinator->transactions()[1].state, TransactionState::queued);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(at(s1).trees.at(7).wait_count, 4U);
}

TEST_F(CoordinatorTest, MessagesOfAnOldSessionAreIgnored) {
  const auto number = fabric.set_tree(chain());
  const SessionNumber old = *fabric.channels[1].session;
  const Answer refusal{Answer::Verb::refused, number.value};
  fabric.connect(s3); // connects again: its old session is over
  fabric.coordinator->receive(s1, SessionNumber{old.value + 1000}, refusal, fabric.now);
  fabric.coordinator->lost(s1, SessionNumber{old.value + 1000}, "late news", fabric.now);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
}

TEST_F(CoordinatorTest, AnswersNobodyAskedForAreIgnored) {
  const auto number = fabric.set_tree(chain());
  const SessionNumber session = *fabric.channels[1].session;
  fabric.coordinator->receive(s1, session, {Answer::Verb::committed, number.value}, fabric.now);
  fabric.coordinator->receive(s1, session, {Answer::Verb::prepared, 424242}, fabric.now);
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_TRUE(has_tree(s1));
}

} // namespace
} // namespace tributary::transaction
