#include "launched.hpp"

namespace tributary::launch::control {
namespace {

class Exchange : public Launched {
protected:
  void fence(NodeIndex node, const std::string& name, const std::string& data,
             const std::vector<std::uint32_t>& ranks = {}) {
    messages::FromNode message;
    message.mutable_fence()->set_name(name);
    message.mutable_fence()->set_data(data);
    message.mutable_fence()->mutable_ranks()->Add(ranks.begin(), ranks.end());
    launch.said(node, message, now());
  }
  void want(NodeIndex node, std::uint64_t number, std::uint32_t rank) {
    messages::FromNode message;
    message.mutable_modex_wanted()->set_number(number);
    message.mutable_modex_wanted()->set_rank(rank);
    launch.said(node, message, now());
  }
};

TEST_F(Exchange, AFenceEndsWhenAllNodesAreIn) {
  run();
  fence(0, "f", "a");
  EXPECT_TRUE(sent_to(0, Kind::kFenceDone).empty());
  fence(1, "f", "b");
  for (const NodeIndex node : {0U, 1U}) {
    const auto done = sent_to(node, Kind::kFenceDone);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].fence_done().data(), "ab");
    EXPECT_EQ(done[0].fence_done().status(), 0);
  }
  EXPECT_EQ(launch.counts().fences, 1U);
  EXPECT_EQ(launch.counts().fences_with_data, 1U);
  EXPECT_EQ(launch.counts().fence_bytes, 2U);
  fence(0, "f", "");
  fence(1, "f", "");
  EXPECT_EQ(launch.counts().fences, 2U) << "the same ranks may meet again";
  EXPECT_EQ(launch.counts().fences_with_data, 1U);
}

TEST_F(Exchange, AFenceOfSomeConcernsTheirNodesOnly) {
  run();
  fence(0, "f 0,1", "", {0, 1});
  EXPECT_EQ(sent_to(0, Kind::kFenceDone).size(), 1U);
  EXPECT_TRUE(sent_to(1, Kind::kFenceDone).empty());
}

TEST_F(Exchange, AFenceWithALostNodeFails) {
  run();
  fence(0, "f", "a");
  launch.lost(1, "gone", now());
  const auto done = sent_to(0, Kind::kFenceDone);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].fence_done().status(), messages::lost_connection);
  fence(0, "later", "a");
  EXPECT_EQ(sent_to(0, Kind::kFenceDone).at(0).fence_done().status(), messages::lost_connection);
}

TEST_F(Exchange, AFenceWithARankThatHasEndedFails) {
  run();
  fence(0, "f", "a");
  ended(3);
  const auto done = sent_to(0, Kind::kFenceDone);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].fence_done().status(), messages::ended_without_sync);
  fence(1, "f", "b");
  EXPECT_EQ(sent_to(1, Kind::kFenceDone).at(0).fence_done().status(), messages::ended_without_sync);
  EXPECT_EQ(launch.counts().fences, 0U);
}

TEST_F(Exchange, GroupsHaveContextIdsAndAreCounted) {
  run();
  messages::FromNode message;
  message.mutable_fence()->set_kind(messages::Fence::CONSTRUCT);
  message.mutable_fence()->set_name("g");
  message.mutable_fence()->set_wants_id(true);
  message.mutable_fence()->set_number(7);
  launch.said(0, message, now());
  launch.said(1, message, now());
  for (const NodeIndex node : {0U, 1U}) {
    const auto done = sent_to(node, Kind::kFenceDone);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].fence_done().number(), 7U);
    EXPECT_EQ(done[0].fence_done().context_id(), UINT32_MAX);
  }
  EXPECT_EQ(launch.counts().groups, 1U);
  EXPECT_EQ(launch.counts().fences, 0U);
}

TEST_F(Exchange, AnOperationThatIsNotCompleteInTimeFails) {
  run();
  messages::FromNode message;
  message.mutable_fence()->set_limit_ms(500);
  launch.said(0, message, now());
  wait();
  EXPECT_EQ(sent_to(0, Kind::kFenceDone).at(0).fence_done().status(), messages::timed_out);
}

TEST_F(Exchange, AnAddressIsFetchedFromTheNodeOfItsRank) {
  run();
  want(0, 17, 2);
  const auto requests = sent_to(1, Kind::kModexRequest);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].modex_request().rank(), 2U);
  messages::FromNode found;
  found.mutable_modex_found()->set_number(requests[0].modex_request().number());
  found.mutable_modex_found()->set_data("card");
  launch.said(0, found, now());
  EXPECT_TRUE(sent_to(0, Kind::kModexAnswer).empty()) << "it was not asked";
  launch.said(1, found, now());
  const auto answers = sent_to(0, Kind::kModexAnswer);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].modex_answer().number(), 17U);
  EXPECT_EQ(answers[0].modex_answer().data(), "card");
  EXPECT_EQ(launch.counts().exchanges, 1U);
}

TEST_F(Exchange, WhoWaitsForALostNodeHearsSo) {
  run();
  want(0, 17, 2);
  launch.lost(1, "gone", now());
  EXPECT_EQ(sent_to(0, Kind::kModexAnswer).at(0).modex_answer().status(),
            messages::lost_connection);
  want(0, 18, 3);
  EXPECT_EQ(sent_to(0, Kind::kModexAnswer).at(0).modex_answer().status(),
            messages::lost_connection);
  want(0, 19, 44);
  EXPECT_EQ(sent_to(0, Kind::kModexAnswer).at(0).modex_answer().status(), messages::not_found);
}

TEST_F(Exchange, EventsOfRanksGoToTheOtherNodes) {
  run();
  messages::FromNode message;
  message.mutable_notice()->set_code(-3005);
  message.mutable_notice()->set_rank(1);
  launch.said(0, message, now());
  EXPECT_TRUE(sent_to(0, Kind::kNotice).empty());
  EXPECT_EQ(sent_to(1, Kind::kNotice).at(0).notice().code(), -3005);
}

TEST_F(Exchange, StandardInputIsOfRankZero) {
  EXPECT_FALSE(launch.wants_input());
  run();
  EXPECT_TRUE(launch.wants_input());
  launch.input("text");
  EXPECT_EQ(sent_to(0, Kind::kInput).at(0).input().data(), "text");
  ended(0);
  EXPECT_FALSE(launch.wants_input());
}

TEST_F(Exchange, OutputAndQuestionsAreHandedOn) {
  run();
  messages::FromNode message;
  message.mutable_output()->set_rank(2);
  message.mutable_output()->set_errors(true);
  message.mutable_output()->set_data("x");
  launch.said(1, message, now());
  const auto output = launch.take_output();
  ASSERT_EQ(output.size(), 1U);
  EXPECT_TRUE(output[0].node == 1 && output[0].rank == 2 && output[0].errors);
  launch.output_written(1, 1);
  EXPECT_EQ(sent_to(1, Kind::kOutputTaken).at(0).output_taken(), 1U);
  message.mutable_query()->set_key("fm.inventory");
  message.mutable_query()->set_number(5);
  launch.said(1, message, now());
  EXPECT_EQ(launch.take_questions().at(0).query.number(), 5U);
}

TEST_F(Exchange, AMarkCountsOnce) {
  run();
  const std::size_t before = launch.steps().size();
  launch.mark("first message", now());
  launch.mark("first message", now());
  EXPECT_EQ(launch.steps().size(), before + 1);
}

} // namespace
} // namespace tributary::launch::control
