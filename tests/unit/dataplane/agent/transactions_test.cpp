// Prepare, Commit and Abort: what is accepted, what is refused, when it is in force, and when that
// is reported.

#include "test_agent.hpp"

#include <gmock/gmock.h>

namespace tributary::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Transactions : public testing::Test {
protected:
  void SetUp() override { agent.connect(); }
  [[nodiscard]] bool has(unsigned number) const { return agent.tables->tree(tree(number)).valid; }
  TestAgent agent;
};

TEST_F(Transactions, a_prepared_tree_is_not_in_force_before_its_commit) {
  agent.prepare(5, {set_tree(7, 3, 0, {1, 2})});
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 5"));
  EXPECT_FALSE(has(7));
  EXPECT_EQ(agent.snapshots, 1);
  agent.commit(5);
  EXPECT_THAT(agent.drain(), ElementsAre("committed 5 in 2"));
  ASSERT_TRUE(has(7));
  EXPECT_EQ(agent.tables->tree(tree(7)).wait_count, 3U);
  EXPECT_EQ(agent.tables->tree(tree(7)).parent, port(0));
  EXPECT_EQ(agent.tables->tree(tree(7)).children, ports({1, 2}));
}

TEST_F(Transactions, a_commit_is_acknowledged_only_when_its_snapshot_is_published) {
  agent.prepare(5, {set_tree(7, 3, 0, {1, 2})});
  agent.commit(5);
  EXPECT_THAT(agent.messages(), ElementsAre("prepared 5"));
  const auto snapshot = agent.agent.take_tables();
  ASSERT_NE(snapshot, nullptr);
  EXPECT_THAT(agent.messages(), IsEmpty());
  agent.agent.published(snapshot->version());
  EXPECT_THAT(agent.messages(), ElementsAre("committed 5 in 2"));
}

TEST_F(Transactions, a_commit_behind_a_snapshot_that_is_taken_waits_for_the_next) {
  agent.prepare(5, {set_tree(7, 3, 0, {1})});
  agent.prepare(6, {set_tree(8, 3, 0, {1})});
  agent.commit(5);
  const auto first = agent.agent.take_tables();
  agent.commit(6);
  agent.agent.published(first->version());
  EXPECT_THAT(agent.messages(), ElementsAre("prepared 5", "prepared 6", "committed 5 in 2"));
  EXPECT_THAT(agent.drain(), ElementsAre("committed 6 in 3"));
}

TEST_F(Transactions, commits_that_come_together_share_one_snapshot) {
  for (unsigned i = 0; i < 100; ++i) {
    agent.prepare(i + 1, {set_tree(100 + i, 3, 0, {1})});
  }
  EXPECT_EQ(agent.drain().size(), 100U);
  for (unsigned i = 0; i < 100; ++i) {
    agent.commit(i + 1);
  }
  const auto lines = agent.drain();
  ASSERT_EQ(lines.size(), 100U);
  EXPECT_EQ(lines.front(), "committed 1 in 2");
  EXPECT_EQ(lines.back(), "committed 100 in 2");
  EXPECT_EQ(agent.snapshots, 2);
  EXPECT_EQ(agent.tables->tree_count(), 101U);
}

TEST_F(Transactions, several_are_prepared_at_once_and_committed_in_any_order) {
  agent.prepare(1, {set_tree(11, 1, 0, {1})});
  agent.prepare(2, {set_tree(12, 1, 0, {1})});
  agent.prepare(3, {set_tree(13, 1, 0, {1})});
  agent.commit(3);
  agent.commit(1);
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 1", "prepared 2", "prepared 3",
                                         "committed 3 in 2", "committed 1 in 2"));
  EXPECT_TRUE(has(11));
  EXPECT_FALSE(has(12));
  EXPECT_TRUE(has(13));
  agent.commit(2);
  EXPECT_THAT(agent.drain(), ElementsAre("committed 2 in 3"));
  EXPECT_TRUE(has(12));
}

TEST_F(Transactions, one_replaces_and_removes_trees_of_earlier_ones) {
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2}), set_tree(8, 4, 0, {3})});
  agent.commit(1);
  agent.prepare(2, {set_tree(7, 9, 4, {5}), remove_tree(8)});
  agent.commit(2);
  agent.drain();
  EXPECT_EQ(agent.tables->tree(tree(7)).wait_count, 9U);
  EXPECT_EQ(agent.tables->tree(tree(7)).parent, port(4));
  EXPECT_FALSE(has(8));
  EXPECT_EQ(agent.tables->tree_count(), 2U); // with the file's
}

TEST_F(Transactions, what_is_there_already_is_committed_without_a_new_snapshot) {
  agent.prepare(1, {set_tree(7, 3, 0, {1}), permit(0, 20)});
  agent.commit(1);
  agent.drain();
  agent.prepare(2, {set_tree(7, 3, 0, {1}), permit(0, 20), remove_tree(99), revoke(0, 21)});
  agent.commit(2);
  EXPECT_THAT(agent.messages(), ElementsAre("prepared 2", "committed 2 in 2"));
  EXPECT_EQ(agent.agent.take_tables(), nullptr);
}

TEST_F(Transactions, an_aborted_one_cannot_be_committed_any_more) {
  agent.prepare(5, {set_tree(7, 3, 0, {1})});
  agent.abort(5);
  agent.commit(5);
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 5", "refused 5: it is not prepared here"));
  EXPECT_FALSE(has(7));
}

TEST_F(Transactions, the_abort_of_an_unknown_one_is_not_answered) {
  agent.abort(5);
  EXPECT_THAT(agent.drain(), IsEmpty());
}

TEST_F(Transactions, a_second_commit_of_the_same_one_is_refused) {
  agent.prepare(5, {set_tree(7, 3, 0, {1})});
  agent.commit(5);
  agent.drain();
  agent.commit(5);
  EXPECT_THAT(agent.drain(), ElementsAre("refused 5: it is not prepared here"));
  EXPECT_TRUE(has(7));
}

TEST_F(Transactions, a_number_that_is_prepared_already_is_refused_and_the_first_one_stays) {
  agent.prepare(5, {set_tree(7, 3, 0, {1})});
  agent.prepare(5, {set_tree(8, 3, 0, {1})});
  agent.commit(5);
  EXPECT_THAT(agent.drain(),
              ElementsAre("prepared 5",
                          "refused 5: a transaction with this number is already prepared",
                          "committed 5 in 2"));
  EXPECT_TRUE(has(7));
  EXPECT_FALSE(has(8));
}

TEST_F(Transactions, nothing_is_kept_of_one_that_is_refused_at_its_last_change) {
  agent.prepare(5, {set_tree(7, 3, 0, {1}), permit(0, 20), set_tree(8, 3, 9, {1})});
  agent.commit(5);
  EXPECT_THAT(
      agent.drain(),
      ElementsAre("refused 5: tree 8: parent port 9 does not exist: the switch has ports 0 to 5",
                  "refused 5: it is not prepared here"));
  EXPECT_FALSE(has(7));
  EXPECT_EQ(agent.agent.take_tables(), nullptr);
}

TEST(TransactionsAtTheirMost, one_more_is_refused_until_one_is_gone) {
  TestAgent agent(leaf0(), {.max_prepared = 2});
  agent.connect();
  agent.prepare(1, {});
  agent.prepare(2, {});
  agent.prepare(3, {});
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 1", "prepared 2",
                                         "refused 3: 2 transactions are prepared already, the most "
                                         "that this switch keeps; commit or abort some"));
  agent.abort(1);
  agent.prepare(3, {});
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 3"));
}

TEST_F(Transactions, an_empty_one_is_committed_at_once) {
  agent.prepare(1, {});
  agent.commit(1);
  EXPECT_THAT(agent.messages(), ElementsAre("prepared 1", "committed 1 in 1"));
}

struct RefusedChange {
  const char* name;
  control::Change change;
  const char* reason;
};

class ChangesThatCannotBe : public testing::TestWithParam<RefusedChange> {};

TEST_P(ChangesThatCannotBe, are_refused_with_the_number_they_are_about) {
  TestAgent agent;
  agent.connect();
  agent.prepare(5, {GetParam().change});
  EXPECT_THAT(agent.drain(), ElementsAre(fmt::format("refused 5: {}", GetParam().reason)));
  EXPECT_EQ(agent.agent.status().last_refusal, fmt::format("transaction 5: {}", GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Agent, ChangesThatCannotBe,
    testing::Values(
        RefusedChange{"tree_number", set_tree(8192, 1, 0, {1}),
                      "tree 8192 does not exist: trees are numbered 0 to 8191"},
        RefusedChange{"tree_number_that_wraps", set_tree(65536 + 7, 1, 0, {1}),
                      "tree 65543 does not exist: trees are numbered 0 to 8191"},
        RefusedChange{"wait_count", set_tree(7, 1U << 20, 0, {1}),
                      "tree 7: wait count 1048576 is larger than 1048575"},
        RefusedChange{"parent", set_tree(7, 1, 6, {1}),
                      "tree 7: parent port 6 does not exist: the switch has ports 0 to 5"},
        RefusedChange{"parent_that_wraps", set_tree(7, 1, 256, {1}),
                      "tree 7: parent port 256 does not exist: the switch has ports 0 to 5"},
        RefusedChange{"child", set_tree(7, 1, 0, {1, 9}),
                      "tree 7: child port 9 does not exist: the switch has ports 0 to 5"},
        RefusedChange{"no_child", set_tree(7, 1, 0, {}), "tree 7 has no child port"},
        RefusedChange{"parent_as_child", set_tree(7, 1, 1, {1, 2}),
                      "tree 7: port 1 is both its parent and its child"},
        RefusedChange{"set_tree_of_file", set_tree(1, 2, 5, {0, 1}),
                      "tree 1 is in the switch's own file, and only the file changes it"},
        RefusedChange{"remove_tree_of_file", remove_tree(1),
                      "tree 1 is in the switch's own file, and only the file removes it"},
        RefusedChange{"remove_tree_number", remove_tree(8192),
                      "tree 8192 does not exist: trees are numbered 0 to 8191"},
        RefusedChange{"permit_port", permit(6, 10),
                      "VNI 10 at port 6: the port does not exist: the switch has ports 0 to 5"},
        RefusedChange{"permit_vni", permit(0, 65536),
                      "VNI 65536 at port 0: the VNI does not exist: VNIs are numbered 0 to 65535"},
        RefusedChange{"revoke_port", revoke(300, 10),
                      "VNI 10 at port 300: the port does not exist: the switch has ports 0 to 5"},
        RefusedChange{"no_kind", control::Change(),
                      "it is of a kind that this switch does not know; a newer one may"}),
    [](const auto& tested) { return tested.param.name; });

// ---- permissions ----

TEST_F(Transactions, permissions_add_to_the_ports_own_list) {
  agent.prepare(1, {permit(0, 20), permit(1, 30)});
  agent.commit(1);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(0)).vnis->count(), 2U);
  EXPECT_TRUE(agent.tables->port(port(0)).vnis->test(10));
  EXPECT_TRUE(agent.tables->port(port(0)).vnis->test(20));
  EXPECT_EQ(agent.tables->port(port(1)).vnis->count(), 1U);
  EXPECT_TRUE(agent.tables->port(port(1)).vnis->test(30));
}

TEST_F(Transactions, revoking_leaves_the_ports_own_list) {
  agent.prepare(1, {permit(0, 10), permit(0, 20)});
  agent.commit(1);
  agent.prepare(2, {revoke(0, 10), revoke(0, 20)});
  agent.commit(2);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(0)).vnis->count(), 1U);
  EXPECT_TRUE(agent.tables->port(port(0)).vnis->test(10));
}

TEST_F(Transactions, a_permission_that_closes_a_port_shuts_all_vnis_out_that_have_none) {
  ASSERT_EQ(agent.tables->port(port(2)).vnis, nullptr) << "by its file it is open";
  agent.prepare(1, {permit_closing(2, 20, 7), permit(2, 30, 7), permit_closing(0, 20, 1)});
  agent.commit(1);
  agent.drain();
  ASSERT_NE(agent.tables->port(port(2)).vnis, nullptr);
  EXPECT_EQ(agent.tables->port(port(2)).vnis->count(), 2U);
  EXPECT_TRUE(agent.tables->port(port(2)).vnis->test(20));
  EXPECT_TRUE(agent.tables->port(port(2)).vnis->test(30));
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{7});
  EXPECT_EQ(agent.tables->port(port(0)).vnis->count(), 2U) << "what its file lists stays";
  agent.prepare(2, {permit(2, 31, 7)});
  agent.commit(2);
  agent.drain();
  EXPECT_TRUE(agent.tables->port(port(2)).vnis->test(31));
  agent.prepare(3, {revoke(2, 31)});
  agent.commit(3);
  agent.drain();
  EXPECT_FALSE(agent.tables->port(port(2)).vnis->test(31));
  // Open again with the last one that closes it: given again without that, or revoked.
  agent.prepare(4, {permit(2, 20, 7)});
  agent.commit(4);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).vnis, nullptr);
  agent.prepare(5, {permit_closing(2, 20, 7)});
  agent.commit(5);
  agent.prepare(6, {revoke(2, 20)});
  agent.commit(6);
  agent.drain();
  ASSERT_NE(agent.tables->port(port(2)).vnis, nullptr);
  EXPECT_TRUE(agent.tables->port(port(2)).vnis->test(99)) << "all but 20";
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{7}) << "of the permission for VNI 30";
}

TEST_F(Transactions, the_vni_of_a_job_that_is_over_stays_out_until_it_is_permitted_again) {
  const auto vnis = [&](unsigned at) { return agent.tables->port(port(at)).vnis; };
  agent.prepare(1, {permit_closing(2, 20, 7), permit_closing(0, 20, 1), permit(3, 20, 8)});
  agent.commit(1);
  agent.prepare(2, {revoke(2, 20), revoke(0, 20), revoke(3, 20)});
  agent.commit(2);
  agent.drain();
  ASSERT_NE(vnis(2), nullptr);
  EXPECT_FALSE(vnis(2)->test(20)) << "a process of the job may still run";
  EXPECT_EQ(vnis(2)->count(), 65'535U) << "all others enter as before";
  EXPECT_EQ(vnis(0)->count(), 1U) << "what its file lists";
  EXPECT_EQ(vnis(3), nullptr) << "it was not closed";
  agent.agent.channel_down(agent.now, "broken");
  agent.connect();
  agent.drain();
  EXPECT_FALSE(vnis(2)->test(20)) << "whatever becomes of the manager";
  // Another job has the port, and then the same one.
  agent.prepare(3, {permit_closing(2, 21, 7)});
  agent.commit(3);
  agent.drain();
  EXPECT_EQ(vnis(2)->count(), 1U);
  agent.prepare(4, {permit(2, 20, 7), revoke(2, 21)});
  agent.commit(4);
  agent.drain();
  EXPECT_TRUE(vnis(2)->test(20));
  EXPECT_FALSE(vnis(2)->test(21));
  agent.prepare(5, {revoke(2, 20)});
  agent.commit(5);
  agent.drain();
  EXPECT_TRUE(vnis(2)->test(20)) << "that one did not close the port";
  EXPECT_FALSE(vnis(2)->test(21));
}

TEST_F(Transactions, what_closes_a_port_is_reported_in_the_next_hello) {
  agent.prepare(1, {permit_closing(2, 20, 7), permit(3, 20, 8)});
  agent.commit(1);
  agent.drain();
  agent.agent.channel_down(agent.now, "broken");
  EXPECT_THAT(agent.connect(),
              testing::HasSubstr("[port 2 VNI 20 NID 7 closes] [port 3 VNI 20 NID 8]"));
}

// ---- source guards ----

TEST_F(Transactions, a_permission_with_a_nid_guards_the_port_until_the_last_of_them_is_revoked) {
  agent.prepare(1, {permit(2, 20, 7), permit(2, 21, 7), permit(1, 30)});
  EXPECT_EQ(agent.tables->port(port(2)).nid, std::nullopt);
  agent.commit(1);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{7});
  EXPECT_EQ(agent.tables->port(port(1)).nid, std::nullopt);
  EXPECT_EQ(agent.tables->port(port(3)).nid, std::nullopt);
  agent.prepare(2, {revoke(2, 20)});
  agent.commit(2);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{7});
  agent.prepare(3, {revoke(2, 21)});
  agent.commit(3);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).nid, std::nullopt);
}

TEST_F(Transactions, the_guard_outlives_the_channel_and_is_reported_in_the_next_hello) {
  agent.prepare(1, {permit(2, 20, 7)});
  agent.commit(1);
  agent.drain();
  agent.agent.channel_down(agent.now, "broken");
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{7});
  EXPECT_THAT(agent.connect(), testing::HasSubstr("[port 2 VNI 20 NID 7]"));
}

TEST_F(Transactions, a_permission_given_again_takes_the_nid_it_is_given_with) {
  agent.prepare(1, {permit(2, 20, 7)});
  agent.commit(1);
  agent.prepare(2, {permit(2, 20, 8)});
  agent.commit(2);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{8});
  agent.prepare(3, {permit(2, 20)});
  agent.commit(3);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).nid, std::nullopt);
}

TEST_F(Transactions, of_two_guards_at_one_port_that_of_the_lowest_vni_holds) {
  agent.prepare(1, {permit(2, 21, 7), permit(2, 20), permit(2, 22, 8)});
  agent.commit(1);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{7});
  agent.prepare(2, {revoke(2, 21)});
  agent.commit(2);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{8});
}

TEST_F(Transactions, a_guard_that_contradicts_the_file_is_refused_at_prepare) {
  agent.prepare(3, {permit(0, 20, 2)});
  agent.prepare(4, {permit(3, 20, 0xFFFFF)});
  agent.prepare(5, {permit(0, 20, 1)});
  EXPECT_THAT(
      agent.drain(),
      ElementsAre(
          "refused 3: NID 2 at port 0: the switch's own file says that the port is for NID 1",
          "refused 4: NID 1048575 at port 3: it cannot be an address: it must have 20 bits that do "
          "not begin with nine ones",
          "prepared 5"));
}

TEST_F(Transactions, the_guard_of_the_file_stands_before_and_after_a_permission) {
  agent.prepare(1, {permit(0, 20, 1)});
  agent.commit(1);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(0)).nid, Nid{1});
  agent.prepare(2, {revoke(0, 20)});
  agent.commit(2);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(0)).nid, Nid{1});
}

TEST_F(Transactions, a_reload_keeps_the_guards_and_its_own_come_first) {
  agent.prepare(1, {permit(2, 20, 7), permit(3, 20, 8)});
  agent.commit(1);
  agent.drain();
  config::Switch file = leaf0();
  file.ports[3].policy.nid = Nid{9};
  ASSERT_EQ(agent.agent.refuses(file), "");
  agent.agent.file_reloaded(file);
  agent.drain();
  EXPECT_EQ(agent.tables->port(port(2)).nid, Nid{7});
  EXPECT_EQ(agent.tables->port(port(3)).nid, Nid{9});
}

TEST_F(Transactions, permissions_at_a_port_that_lets_all_in_are_kept_without_effect) {
  agent.prepare(1, {permit(2, 20)});
  agent.commit(1);
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 1", "committed 1 in 1"));
  EXPECT_EQ(agent.tables->port(port(2)).vnis, nullptr);
  EXPECT_EQ(agent.agent.status().permissions, 1U);
}

} // namespace
} // namespace tributary::agent
