#include "endpoint/mpi/model/agreement.hpp"

#include "endpoint/mpi/model/plan.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace tributary::mpi::test {
namespace {

using std::chrono::milliseconds;
using Sending = Agreement::Sending;

constexpr Agreement::Time start{};
constexpr milliseconds grace{1000};
const std::vector<std::string> two{"rank 0 on h0", "rank 4 on h1"};
const std::vector<std::string> three{"rank 0 on h0", "rank 4 on h1", "rank 8 on h2"};

std::vector<std::byte> number(std::int64_t value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::int64_t number_in(const Message& message) {
  std::int64_t value = 0;
  EXPECT_EQ(message.payload.size(), sizeof value);
  std::memcpy(&value, message.payload.data(), std::min(sizeof value, message.payload.size()));
  return value;
}

Message status(StepNumber contributed, StepNumber completed, std::uint64_t pieces = 0) {
  return {.type = MessageType::status,
          .step = contributed,
          .call = completed,
          .elements = pieces,
          .payload = {}};
}
Message frozen(StepNumber completed, CallNumber entered, std::int64_t result) {
  return {
      .type = MessageType::frozen, .step = completed, .call = entered, .payload = number(result)};
}
Message contribution(StepNumber step, std::int64_t value, int op = TRIBUTARY_SUM) {
  return {.type = MessageType::contribution,
          .step = step,
          .frame_type = TRIBUTARY_INT64,
          .op = op,
          .elements = 1,
          .payload = number(value)};
}

bool all_are(const std::vector<Sending>& out, MessageType type, std::size_t how_many) {
  return out.size() == how_many && std::all_of(out.begin(), out.end(), [type](const Sending& one) {
           return one.message.type == type;
         });
}

/// One round of questions and answers; returns the outcome.
std::vector<Sending> round(Agreement& agreement, const std::vector<Message>& answers,
                           Agreement::Time now) {
  EXPECT_TRUE(all_are(agreement.receive(0, text_message(MessageType::suspect, 1, "silent"), now),
                      MessageType::poll, answers.size()));
  std::vector<Sending> out;
  for (std::uint32_t node = 0; node < answers.size(); ++node) {
    EXPECT_TRUE(out.empty());
    out = agreement.receive(node, answers[node], now);
  }
  return out;
}

TEST(Agreement, AStepThatAllContributedToAndStillLackAfterTheGraceIsTheFabricsFault) {
  Agreement agreement(two, grace);
  const std::vector<Message> stuck{status(5, 4), status(5, 4)};
  EXPECT_TRUE(round(agreement, stuck, start).empty());
  EXPECT_TRUE(round(agreement, stuck, start + grace / 2).empty());
  EXPECT_TRUE(all_are(round(agreement, stuck, start + grace), MessageType::freeze, 2));
}

TEST(Agreement, ALeaderWhoseMachineIsDeadIsNamedWithinFourSecondsAndNothingElseFollows) {
  Agreement agreement(three, grace);
  EXPECT_FALSE(agreement.deadline());
  EXPECT_EQ(agreement.overdue(start), "");
  const Message suspicion = text_message(MessageType::suspect, 1, "silent");
  EXPECT_TRUE(all_are(agreement.receive(0, suspicion, start), MessageType::poll, 3));
  EXPECT_TRUE(agreement.receive(0, status(5, 4), start).empty());
  EXPECT_TRUE(agreement.receive(2, status(5, 4), start).empty());
  EXPECT_EQ(agreement.deadline(), start + std::chrono::seconds(3));
  EXPECT_EQ(agreement.overdue(start + milliseconds(2999)), "");
  const auto again = agreement.receive(2, suspicion, start + milliseconds(1500));
  ASSERT_TRUE(all_are(again, MessageType::poll, 1)) << "this end is there";
  EXPECT_EQ(again[0].node, 2U);
  EXPECT_EQ(agreement.overdue(start + milliseconds(3000)),
            "rank 4 on h1 has not answered for 3 s; a machine may be down, or cannot be reached");
  EXPECT_EQ(agreement.overdue(start + milliseconds(9000)), "") << "once";
  EXPECT_FALSE(agreement.deadline());
  EXPECT_TRUE(agreement.receive(1, status(5, 4), start + milliseconds(9000)).empty()) << "it lives";
  const std::vector<Sending> end = [&] {
    static_cast<void>(agreement.receive(0, suspicion, start + milliseconds(9500)));
    return agreement.lost(1);
  }();
  ASSERT_TRUE(all_are(end, MessageType::broken, 2));
  EXPECT_EQ(end[0].message.text(), "rank 4 on h1 is gone while its part was needed");
}

TEST(Agreement, ARankThatIsLateIsNoFaultHoweverLongItTakes) {
  Agreement agreement(two, grace);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(round(agreement, {status(5, 4), status(4, 4)}, start + i * grace).empty());
  }
}

TEST(Agreement, ANodeThatKeepsTheOthersWaitingIsNamedOnceAfterTwoGraces) {
  Agreement agreement(two, grace);
  EXPECT_TRUE(round(agreement, {status(5, 4), status(4, 4)}, start).empty());
  EXPECT_EQ(agreement.overdue(start + 2 * grace - milliseconds(1)), "");
  EXPECT_EQ(agreement.overdue(start + 2 * grace),
            "rank 4 on h1, or a rank on the same node, has not made a call that others have waited "
            "in for 2 s; they keep waiting, forever if it has made another call instead");
  EXPECT_EQ(agreement.overdue(start + 9 * grace), "");
}

TEST(Agreement, ANodeThatCameMeanwhileIsNotNamed) {
  Agreement agreement(two, grace);
  EXPECT_TRUE(round(agreement, {status(5, 4), status(4, 4)}, start).empty());
  EXPECT_TRUE(round(agreement, {status(5, 4), status(5, 5)}, start + grace).empty());
  EXPECT_TRUE(round(agreement, {status(6, 5), status(5, 5)}, start + 2 * grace).empty());
  EXPECT_EQ(agreement.overdue(start + 3 * grace), "");
}

TEST(Agreement, ANodeWithAnotherCallEndsTheProgramInItsWords) {
  Agreement agreement(three, grace);
  const auto out = agreement.receive(
      1, text_message(MessageType::mismatch, 0, "rank 4 called MPI_Barrier"), start);
  ASSERT_TRUE(all_are(out, MessageType::broken, 3));
  EXPECT_EQ(out[2].message.text(), "rank 4 called MPI_Barrier");
}

TEST(Agreement, StepsThatMoveOnAreNoFault) {
  Agreement agreement(two, grace);
  for (StepNumber step = 5; step < 15; ++step) {
    EXPECT_TRUE(round(agreement, {status(step, step - 1), status(step, step - 1)},
                      start + static_cast<int>(step) * grace)
                    .empty());
  }
}

TEST(Agreement, ALongStepWhoseNextPieceCameToOneNodeIsNoFault) {
  Agreement agreement(two, grace);
  for (std::uint64_t pieces = 0; pieces < 10; ++pieces) {
    EXPECT_TRUE(round(agreement, {status(5, 4, 70), status(5, 4, 60 + pieces)},
                      start + static_cast<int>(pieces) * grace)
                    .empty());
  }
  EXPECT_TRUE(all_are(round(agreement, {status(5, 4, 70), status(5, 4, 69)}, start + 10 * grace),
                      MessageType::freeze, 2));
}

TEST(Agreement, TheOldestStepCountsWhenOneNodeIsBehind) {
  // Node 1 lacks step 4, which node 0 has; node 0 waits for step 5, which node 1 cannot begin.
  Agreement agreement(two, grace);
  const std::vector<Message> stuck{status(5, 4), status(4, 3)};
  EXPECT_TRUE(round(agreement, stuck, start).empty());
  EXPECT_TRUE(all_are(round(agreement, stuck, start + grace), MessageType::freeze, 2));
}

/// Three nodes; the first two have completed step 4 (its result is 44), the third has not.
class Frozen : public ::testing::Test {
protected:
  Frozen() {
    EXPECT_TRUE(all_are(agreement.receive(1, text_message(MessageType::failed, 0, "ended"), start),
                        MessageType::freeze, 3));
    EXPECT_TRUE(agreement.receive(0, frozen(4, 9, 44), start).empty());
    EXPECT_TRUE(agreement.receive(2, frozen(3, 8, 33), start).empty());
    decision = agreement.receive(1, frozen(4, 10, 44), start);
  }
  Agreement agreement{three, grace};
  std::vector<Sending> decision;
};

TEST_F(Frozen, CallsUpToTheLastThatAnybodyBeganAreCompletedHere) {
  ASSERT_TRUE(all_are(decision, MessageType::decision, 3));
  EXPECT_EQ(decision[0].message.call, 10U);
  EXPECT_EQ(decision[0].message.text(), "ended");
  EXPECT_TRUE(agreement.is_frozen());
}

TEST_F(Frozen, ANodeThatLacksAResultThatOthersHaveGetsThatOne) {
  const auto out = agreement.receive(2, contribution(4, 1), start);
  ASSERT_TRUE(all_are(out, MessageType::result, 1));
  EXPECT_EQ(out[0].node, 2U);
  EXPECT_EQ(number_in(out[0].message), 44);
}

TEST_F(Frozen, AStepThatNobodyHasIsAddedUpInAnyOrderOfArrival) {
  std::vector<std::uint32_t> order{0, 1, 2};
  StepNumber step = 5;
  do {
    std::vector<Sending> out;
    for (const std::uint32_t node : order) {
      EXPECT_TRUE(out.empty());
      out = agreement.receive(node, contribution(step, 10 * node + 1), start);
    }
    ASSERT_TRUE(all_are(out, MessageType::result, 3));
    EXPECT_EQ(number_in(out[1].message), 33);
    EXPECT_EQ(out[1].message.step, step);
    ++step;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Frozen, DifferentCallsOfOneStepEndTheProgramWithBoth) {
  EXPECT_TRUE(agreement.receive(0, contribution(5, 1), start).empty());
  EXPECT_TRUE(agreement.receive(1, contribution(5, 1, TRIBUTARY_MAX), start).empty());
  const auto out = agreement.receive(2, contribution(5, 1), start);
  ASSERT_TRUE(all_are(out, MessageType::broken, 3));
  EXPECT_NE(out[0].message.text().find("different calls"), std::string::npos);
}

TEST_F(Frozen, AResultOfAnotherLengthIsNotTheOneThatIsLacking) {
  Message longer = contribution(4, 1);
  longer.payload.resize(2 * longer.payload.size());
  const auto out = agreement.receive(2, longer, start);
  ASSERT_TRUE(all_are(out, MessageType::broken, 3));
  EXPECT_NE(out[0].message.text().find("rank 8 on h2"), std::string::npos);
}

TEST_F(Frozen, ANodeThatIsGoneWithoutItsPartEndsTheProgram) {
  EXPECT_TRUE(agreement.receive(0, contribution(5, 1), start).empty());
  EXPECT_TRUE(all_are(agreement.lost(1), MessageType::broken, 2));
}

TEST_F(Frozen, ANodeThatIsGoneAfterItsPartIsNotMissed) {
  EXPECT_TRUE(agreement.receive(1, contribution(5, 1), start).empty());
  EXPECT_TRUE(agreement.lost(1).empty());
  EXPECT_TRUE(agreement.receive(0, contribution(5, 1), start).empty());
  EXPECT_TRUE(all_are(agreement.receive(2, contribution(5, 1), start), MessageType::result, 2));
}

TEST_F(Frozen, APartOfAStepThatAGoneNodeOwesEndsTheProgram) {
  EXPECT_TRUE(agreement.lost(1).empty());
  EXPECT_TRUE(all_are(agreement.receive(0, contribution(5, 1), start), MessageType::broken, 2));
}

TEST(Agreement, ALeaderThatEndsWithoutAFaultIsNoMatter) {
  Agreement agreement(two, grace);
  EXPECT_TRUE(agreement.lost(1).empty());
  EXPECT_TRUE(all_are(agreement.receive(0, text_message(MessageType::suspect, 1, "silent"), start),
                      MessageType::broken, 1));
}

Message left() { return {.type = MessageType::left, .payload = {}}; }

TEST(Agreement, ItIsOverWhenAllNodesHaveLeft) {
  Agreement agreement(three, grace);
  const auto told = agreement.receive(1, left(), start);
  ASSERT_TRUE(all_are(told, MessageType::vacate, 2));
  EXPECT_EQ(told[0].node, 0U);
  EXPECT_EQ(told[1].node, 2U);
  EXPECT_TRUE(agreement.receive(2, left(), start).empty());
  EXPECT_TRUE(agreement.receive(2, left(), start).empty()) << "one that says it twice";
  EXPECT_FALSE(agreement.is_over());
  EXPECT_TRUE(all_are(agreement.receive(0, left(), start), MessageType::ended, 3));
  EXPECT_TRUE(agreement.is_over());
}

TEST(Agreement, NodesThatAreGoneAreNotWaitedForAtTheEnd) {
  Agreement agreement(three, grace);
  EXPECT_TRUE(all_are(agreement.receive(0, left(), start), MessageType::vacate, 2));
  EXPECT_TRUE(agreement.receive(1, left(), start).empty());
  EXPECT_TRUE(all_are(agreement.lost(2), MessageType::ended, 2));
  EXPECT_TRUE(agreement.is_over());
  EXPECT_TRUE(agreement.receive(2, left(), start).empty()) << "of a later connection";
}

TEST(Agreement, ANodeThatHasLeftStillGivesTheResultThatAnotherOneLacks) {
  Agreement agreement(two, grace);
  EXPECT_TRUE(all_are(agreement.receive(0, left(), start), MessageType::vacate, 1));
  EXPECT_TRUE(
      all_are(agreement.receive(1, text_message(MessageType::failed, 0, "the group ended"), start),
              MessageType::freeze, 2));
  EXPECT_TRUE(agreement.receive(0, frozen(7, 7, 42), start).empty());
  EXPECT_TRUE(all_are(agreement.receive(1, frozen(6, 7, 41), start), MessageType::decision, 2));
  const auto result = agreement.receive(1, contribution(7, 1), start);
  ASSERT_TRUE(all_are(result, MessageType::result, 1));
  EXPECT_EQ(number_in(result[0].message), 42);
  EXPECT_FALSE(agreement.is_over());
  EXPECT_TRUE(all_are(agreement.receive(1, left(), start), MessageType::ended, 2));
}

TEST(Message, AHeaderSurvivesTheStreamAndDamageIsNamed) {
  Message message = contribution(77, 5);
  message.team = 0x1122334455667788;
  Header header = encode_header(message);
  std::size_t bytes = 0;
  const Message read = decode_header(header, bytes);
  EXPECT_EQ(read.type, MessageType::contribution);
  EXPECT_EQ(read.step, 77U);
  EXPECT_EQ(read.team, message.team);
  EXPECT_EQ(read.elements, 1U);
  EXPECT_EQ(bytes, 8U);
  header[4] = std::byte{9};
  EXPECT_THROW(static_cast<void>(decode_header(header, bytes)), std::runtime_error);
  header[0] = std::byte{0};
  EXPECT_THROW(static_cast<void>(decode_header(header, bytes)), std::runtime_error);
}

} // namespace
} // namespace tributary::mpi::test
