// Trees with wide frames from the manager: what fits, what is refused, and the messages.

#include "test_agent.hpp"

#include <gmock/gmock.h>

namespace tributary::agent {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t place = 16 * 1408;

control::Change wide_tree(unsigned number, unsigned slots, unsigned payload,
                          bool half_floats = false) {
  control::Change change = set_tree(number, 3, 0, {1, 2});
  change.mutable_set_tree()->set_slots(slots);
  change.mutable_set_tree()->set_payload(payload);
  change.mutable_set_tree()->set_half_floats(half_floats);
  return change;
}

/// With room for four places of 16 slots at an MTU of 1500, and the file's tree in one of them.
config::Switch small() {
  config::Switch sw = leaf0();
  sw.settings.wide_memory = 4 * place;
  sw.trees[0].slots = {.slots = 16, .payload_bytes = 1408, .half_floats = false};
  return sw;
}

control::SwitchHello hello_of(TestAgent& agent) {
  agent.agent.channel_up(agent.now);
  agent.publish();
  return agent.agent.take_messages().at(0).hello();
}

TEST(WideTrees, hello_says_what_there_can_be) {
  TestAgent agent(small());
  const control::SwitchHello hello = hello_of(agent);
  EXPECT_EQ(hello.limits().wide_payload(), 9152U) << "longest_frame is 9216, and 62 are headers";
  EXPECT_EQ(hello.limits().wide_slots(), 128U);
  EXPECT_EQ(hello.limits().wide_memory(), 4 * place);
  EXPECT_EQ(hello.limits().wide_forms(), 0xFEU) << "forms 1 to 7";
  EXPECT_EQ(hello.in_force().trees(0).slots(), 16U);
  EXPECT_EQ(hello.in_force().trees(0).payload(), 1408U);
}

TEST(SharedTrees, are_put_in_force_and_reported_again) {
  TestAgent agent(small());
  EXPECT_TRUE(hello_of(agent).limits().shared());
  agent.connect();
  control::Change shared = wide_tree(7, 16, 1408);
  shared.mutable_set_tree()->set_shared(true);
  agent.prepare(1, {wide_tree(7, 16, 1408)});
  agent.commit(1);
  const auto before = agent.tables;
  EXPECT_FALSE(before->tree(tree(7)).shared);
  agent.prepare(2, {shared});
  agent.commit(2);
  EXPECT_TRUE(agent.tables->tree(tree(7)).shared);
  EXPECT_TRUE(agent.tables->has_same(*before, tree(7))) << "what it holds stays where it is";
  agent.agent.channel_down(agent.now, "broken");
  EXPECT_TRUE(hello_of(agent).in_force().trees(1).shared());
}

TEST(SharedTrees, have_reductions) {
  TestAgent agent(small());
  agent.connect();
  control::Change change = set_tree(7, 0, 0, {1, 2});
  change.mutable_set_tree()->set_shared(true);
  agent.prepare(1, {change});
  EXPECT_THAT(agent.messages(), ElementsAre(HasSubstr("only the root may send")));
}

TEST(WideTrees, the_port_with_the_shortest_frames_decides) {
  config::Switch sw = small();
  sw.ports[3].policy.longest_frame = 1792;
  TestAgent agent(std::move(sw));
  EXPECT_EQ(hello_of(agent).limits().wide_payload(), 1728U);
}

TEST(WideTrees, a_switch_without_memory_has_none) {
  config::Switch sw = leaf0();
  sw.settings.wide_memory = 0;
  TestAgent first(sw);
  EXPECT_EQ(hello_of(first).limits().wide_payload(), 0U);
  TestAgent agent(std::move(sw));
  agent.connect();
  agent.prepare(1, {wide_tree(7, 16, 1408)});
  EXPECT_THAT(agent.messages(), ElementsAre(HasSubstr("at most 0 go through")));
}

TEST(WideTrees, are_put_in_force_with_their_place_and_reported_again) {
  TestAgent agent(small());
  agent.connect();
  agent.prepare(1, {wide_tree(7, 16, 1408), set_tree(8, 3, 0, {1, 2})});
  agent.commit(1);
  EXPECT_THAT(agent.drain(), ElementsAre("prepared 1", "committed 1 in 2"));
  EXPECT_EQ(agent.tables->tree(tree(7)).slots(), 16U);
  EXPECT_EQ(agent.tables->slot_place(tree(7)).payload_bytes, 1408U);
  EXPECT_FALSE(agent.tables->tree(tree(8)).has_place());
  agent.agent.channel_down(agent.now, "broken");
  const control::InForce reported = hello_of(agent).in_force();
  ASSERT_EQ(reported.trees_size(), 3);
  EXPECT_EQ(reported.trees(1).slots(), 16U);
  EXPECT_EQ(reported.trees(1).payload(), 1408U);
  EXPECT_EQ(reported.trees(2).slots(), 0U);
  EXPECT_EQ(reported.trees(2).payload(), 0U);
}

TEST(WideTrees, a_change_of_the_slots_alone_is_a_change) {
  TestAgent agent(small());
  agent.connect();
  agent.prepare(1, {wide_tree(7, 16, 1408)});
  agent.commit(1);
  agent.prepare(2, {wide_tree(7, 8, 1408, true)});
  agent.commit(2);
  agent.drain();
  EXPECT_EQ(agent.tables->tree(tree(7)).slots(), 8U);
  EXPECT_TRUE(agent.tables->slot_place(tree(7)).half_floats);
}

TEST(WideTrees, without_room_are_refused_with_the_numbers_and_a_word_for_the_manager) {
  TestAgent agent(small());
  agent.connect();
  agent.prepare(1, {wide_tree(7, 32, 1408)});
  agent.commit(1);
  agent.drain();
  agent.prepare(2, {wide_tree(8, 32, 1408)});
  const auto messages = agent.agent.take_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_TRUE(messages[0].refused().no_room());
  EXPECT_THAT(messages[0].refused().reason(),
              AllOf(HasSubstr("tree 8: no room"), HasSubstr("need 45056 bytes"),
                    HasSubstr("22528 of 90112 are free"), HasSubstr("tree 7 has 45056")));
  agent.prepare(3, {wide_tree(8, 16, 1408)});
  EXPECT_THAT(agent.messages(), ElementsAre("prepared 3"));
}

TEST(WideTrees, what_is_prepared_holds_its_place_and_gives_it_up_when_aborted) {
  TestAgent agent(small());
  agent.connect();
  agent.prepare(1, {wide_tree(7, 32, 1408)});
  agent.prepare(2, {wide_tree(8, 32, 1408)});
  EXPECT_THAT(agent.messages(),
              ElementsAre("prepared 1", AllOf(HasSubstr("refused 2"), HasSubstr("tree 7 has"))));
  agent.abort(1);
  agent.prepare(3, {wide_tree(8, 32, 1408)});
  EXPECT_THAT(agent.messages(), ElementsAre("prepared 3"));
}

TEST(WideTrees, a_place_that_the_same_transaction_frees_is_free) {
  TestAgent agent(small());
  agent.connect();
  agent.prepare(1, {wide_tree(9, 32, 1408)});
  agent.commit(1);
  agent.drain();
  agent.prepare(2, {remove_tree(9)});
  agent.prepare(3, {wide_tree(4, 32, 1408)});
  EXPECT_THAT(agent.messages(), ElementsAre("prepared 2", HasSubstr("refused 3: tree 4: no room")))
      << "9 is to be removed, and is still there";
  agent.prepare(4, {wide_tree(4, 32, 1408), remove_tree(9)});
  agent.commit(4);
  agent.drain();
  EXPECT_EQ(agent.tables->tree(tree(4)).slots(), 32U) << "the lower number comes first";
  EXPECT_FALSE(agent.tables->tree(tree(9)).valid);
}

TEST(WideTrees, a_file_whose_trees_would_take_the_managers_place_is_refused) {
  TestAgent agent(small());
  agent.connect();
  agent.prepare(1, {wide_tree(7, 32, 1408)});
  agent.commit(1);
  agent.drain();
  config::Switch other = small();
  other.trees[0].slots.slots = 32;
  EXPECT_EQ(agent.agent.refuses(other), "") << "just so";
  other.trees[0].slots.half_floats = true;
  EXPECT_THAT(agent.agent.refuses(other),
              AllOf(HasSubstr("take the place of tree 7 of the fabric manager"),
                    HasSubstr("45056 bytes, and 0 of 90112 are free")));
}

TEST(WideTrees, with_impossible_numbers_are_refused_and_less_of_them_would_not_do) {
  TestAgent agent(small());
  agent.connect();
  const auto refusal = [&](const control::Change& change) {
    agent.prepare(1, {change});
    const auto messages = agent.agent.take_messages();
    EXPECT_FALSE(messages.at(0).refused().no_room());
    return messages.at(0).refused().reason();
  };
  EXPECT_THAT(refusal(wide_tree(7, 12, 1408)), HasSubstr("tree 7: 12 slots are not supported"));
  EXPECT_THAT(refusal(wide_tree(7, 16, 1400)), HasSubstr("tree 7: a payload of 1400 bytes"));
  EXPECT_THAT(refusal(wide_tree(7, 16, 0)), HasSubstr("tree 7: 16 slots need wide frames"));
  EXPECT_THAT(refusal(wide_tree(7, 16, 9216)), HasSubstr("at most 9152 go through"));
}

} // namespace
} // namespace tributary::agent
