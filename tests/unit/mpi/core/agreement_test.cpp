#include "mpi/core/agreement.hpp"

#include "mpi/core/plan.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tributary::mpi::test {
namespace {

using std::chrono::milliseconds;
using Sending = Agreement::Sending;

constexpr Agreement::Time start{};
constexpr milliseconds grace{1000};

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

/// One round of questions and answers; what comes of it.
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
  Agreement agreement(2, grace);
  const std::vector<Message> stuck{status(5, 4), status(5, 4)};
  EXPECT_TRUE(round(agreement, stuck, start).empty());
  EXPECT_TRUE(round(agreement, stuck, start + grace / 2).empty());
  EXPECT_TRUE(all_are(round(agreement, stuck, start + grace), MessageType::freeze, 2));
}

TEST(Agreement, ARankThatIsLateIsNoFaultHoweverLongItTakes) {
  Agreement agreement(2, grace);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(round(agreement, {status(5, 4), status(4, 4)}, start + i * grace).empty());
  }
}

TEST(Agreement, StepsThatMoveOnAreNoFault) {
  Agreement agreement(2, grace);
  for (StepNumber step = 5; step < 15; ++step) {
    EXPECT_TRUE(round(agreement, {status(step, step - 1), status(step, step - 1)},
                      start + static_cast<int>(step) * grace)
                    .empty());
  }
}

TEST(Agreement, ALongStepWhoseNextPieceCameToOneNodeIsNoFault) {
  Agreement agreement(2, grace);
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
  Agreement agreement(2, grace);
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
  Agreement agreement{3, grace};
  std::vector<Sending> decision;
};

TEST_F(Frozen, CallsUpToTheLastThatAnybodyBeganAreCompletedHere) {
  ASSERT_TRUE(all_are(decision, MessageType::decision, 3));
  EXPECT_EQ(decision[0].message.call, 10U);
  EXPECT_EQ(decision[0].message.text(), "ended");
  EXPECT_TRUE(agreement.is_frozen());
}

TEST_F(Frozen, WhoeverLacksAResultThatOthersHaveGetsThatOne) {
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
  Agreement agreement(2, grace);
  EXPECT_TRUE(agreement.lost(1).empty());
  EXPECT_TRUE(all_are(agreement.receive(0, text_message(MessageType::suspect, 1, "silent"), start),
                      MessageType::broken, 1));
}

TEST(Message, AHeaderSurvivesTheStreamAndDamageIsNamed) {
  const Message message = contribution(77, 5);
  Header header = encode_header(message);
  std::size_t bytes = 0;
  const Message read = decode_header(header, bytes);
  EXPECT_EQ(read.type, MessageType::contribution);
  EXPECT_EQ(read.step, 77U);
  EXPECT_EQ(read.elements, 1U);
  EXPECT_EQ(bytes, 8U);
  header[4] = std::byte{9};
  EXPECT_THROW(static_cast<void>(decode_header(header, bytes)), std::runtime_error);
  header[0] = std::byte{0};
  EXPECT_THROW(static_cast<void>(decode_header(header, bytes)), std::runtime_error);
}

} // namespace
} // namespace tributary::mpi::test
