// Which managers an agent accepts, by fabric, epoch and boot.

#include "test_agent.hpp"

#include "tributary/leader.hpp"

#include <gmock/gmock.h>

#include <optional>

namespace tributary::agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t ours = 0xA;
constexpr std::uint64_t theirs = 0xB;

class Fence : public testing::Test {
protected:
  /// Connects, and is welcomed by this manager; why the channel ends, if it does.
  std::optional<std::string> welcome(const Leader& leader, std::uint64_t adopted = 0) {
    agent.agent.channel_down(agent.now);
    agent.agent.channel_up(agent.now);
    agent.drain();
    control::ManagerMessage m;
    control::Welcome& w = *m.mutable_welcome();
    w.set_manager("fabric");
    w.mutable_leader()->set_fabric(leader.fabric);
    w.mutable_leader()->set_epoch(leader.epoch);
    w.mutable_leader()->set_boot(leader.boot);
    w.set_adopted_fabric(adopted);
    agent.agent.receive(m, agent.now);
    return agent.agent.take_disconnect();
  }
  control::Leader reported() {
    agent.agent.channel_down(agent.now);
    agent.agent.channel_up(agent.now);
    agent.publish();
    return agent.agent.take_messages().at(0).hello().leader();
  }
  void install(std::uint64_t transaction, unsigned number) {
    agent.prepare(transaction, {set_tree(number, 3, 0, {1, 2})});
    agent.commit(transaction);
    agent.drain();
  }

  TestAgent agent;
};

TEST_F(Fence, the_first_manager_is_accepted_and_reported_to_the_next) {
  EXPECT_EQ(reported().fabric(), 0U);
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  EXPECT_TRUE(agent.agent.is_welcomed());
  const control::Leader leader = reported();
  EXPECT_EQ(leader.fabric(), ours);
  EXPECT_EQ(leader.epoch(), 5U);
  EXPECT_EQ(leader.boot(), 77U);
  EXPECT_EQ(agent.agent.status().leader, (Leader{ours, 5, 77}));
}

TEST_F(Fence, the_same_manager_and_a_newer_one_are_accepted) {
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  EXPECT_EQ(welcome({ours, 6, 78}), std::nullopt);
  EXPECT_EQ(reported().epoch(), 6U);
}

TEST_F(Fence, an_older_epoch_is_refused_and_its_changes_are_not_taken) {
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  install(1, 7);
  const auto why = welcome({ours, 4, 76});
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(*why, HasSubstr("its epoch is 4, and this switch has accepted epoch 5 of fabric "
                              "000000000000000a"));
  EXPECT_FALSE(agent.agent.is_welcomed());
  agent.prepare(2, {remove_tree(7)});
  agent.commit(2);
  EXPECT_THAT(agent.drain(), IsEmpty());
  EXPECT_TRUE(agent.tables->tree(tree(7)).valid);
  EXPECT_EQ(reported().epoch(), 5U);
  EXPECT_EQ(agent.agent.status().managers_refused, 1U);
}

TEST_F(Fence, another_fabric_is_refused_and_the_command_for_the_operator_is_named) {
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  install(1, 7);
  const auto why = welcome({theirs, 900, 1});
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(*why, HasSubstr("it manages fabric 000000000000000b, and this switch belongs to "
                              "fabric 000000000000000a"));
  EXPECT_THAT(*why, HasSubstr("tributaryctl fabric adopt 000000000000000a"));
  EXPECT_TRUE(agent.tables->tree(tree(7)).valid);
  EXPECT_EQ(reported().fabric(), ours);
}

TEST_F(Fence, another_fabric_that_adopts_this_one_is_accepted_whatever_its_epoch) {
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  EXPECT_NE(welcome({theirs, 1, 1}, 0xC), std::nullopt) << "that is a third fabric";
  EXPECT_EQ(welcome({theirs, 1, 1}, ours), std::nullopt);
  EXPECT_EQ(reported().fabric(), theirs);
  EXPECT_NE(welcome({ours, 6, 78}), std::nullopt) << "the old manager comes back";
}

TEST_F(Fence, an_adoption_does_not_help_an_older_epoch_of_the_same_fabric) {
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  EXPECT_NE(welcome({ours, 4, 76}, ours), std::nullopt);
}

TEST_F(Fence, two_starts_with_one_epoch_exclude_each_other_unless_one_could_not_store_it) {
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  const auto why = welcome({ours, 5, 78});
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(*why, HasSubstr("another manager of fabric 000000000000000a has the same epoch 5"));
  EXPECT_EQ(welcome({ours, 5, 0}), std::nullopt);
  EXPECT_EQ(welcome({ours, 5, 78}), std::nullopt);
}

TEST_F(Fence, a_manager_without_a_fabric_is_accepted_until_one_with_a_fabric_was) {
  EXPECT_EQ(welcome({}), std::nullopt);
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  const auto why = welcome({});
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(*why, HasSubstr("it reports no fabric"));
}

TEST_F(Fence, messages_that_follow_a_refused_welcome_in_one_write_change_nothing) {
  EXPECT_EQ(welcome({ours, 5, 77}), std::nullopt);
  EXPECT_NE(welcome({ours, 4, 76}), std::nullopt);
  control::ManagerMessage again;
  again.mutable_welcome()->mutable_leader()->set_fabric(ours);
  again.mutable_welcome()->mutable_leader()->set_epoch(9);
  agent.agent.receive(again, agent.now);
  EXPECT_FALSE(agent.agent.is_welcomed()) << "a channel is refused once";
  agent.prepare(1, {set_tree(7, 3, 0, {1, 2})});
  EXPECT_THAT(agent.drain(), IsEmpty());
}

TEST(Leader, relations) {
  using enum LeaderRelation;
  EXPECT_EQ(relation({}, {ours, 1, 1}), unknown);
  EXPECT_EQ(relation({ours, 1, 1}, {}), unknown);
  EXPECT_EQ(relation({ours, 1, 1}, {theirs, 1, 1}), other_fabric);
  EXPECT_EQ(relation({ours, 1, 1}, {ours, 2, 1}), older);
  EXPECT_EQ(relation({ours, 3, 1}, {ours, 2, 1}), newer);
  EXPECT_EQ(relation({ours, 2, 1}, {ours, 2, 1}), same);
  EXPECT_EQ(relation({ours, 2, 0}, {ours, 2, 1}), same);
  EXPECT_EQ(relation({ours, 2, 2}, {ours, 2, 1}), twin);
}

TEST(Leader, fabrics_as_text) {
  EXPECT_EQ(fabric_text(0xA1B2), "000000000000a1b2");
  EXPECT_EQ(parse_fabric("000000000000a1b2"), 0xA1B2U);
  EXPECT_EQ(parse_fabric(fabric_text(~std::uint64_t{0})), ~std::uint64_t{0});
  for (const char* const wrong : {"", "a1b2", "0000000000000000", "000000000000A1B2",
                                  "000000000000a1b2 ", "g00000000000a1b2", "0000000000000a1b2c"}) {
    EXPECT_EQ(parse_fabric(wrong), std::nullopt) << wrong;
  }
}

} // namespace
} // namespace tributary::agent
