#include "launched.hpp"

namespace tributary::launch::control {
namespace {

constexpr int killed = 9;
constexpr int terminate = 15;
constexpr int interrupt = 2;

TEST_F(Launched, TellsTheOthersOfARankThatDies) {
  run();
  ended(3, killed);
  EXPECT_NE(
      errors().find("rank 3 on ns2 (process 103) was killed by signal 9 (Killed); the other 3 "
                    "ranks are notified"),
      std::string::npos);
  for (const NodeIndex node : {0U, 1U}) {
    const auto notices = sent_to(node, Kind::kNotice);
    ASSERT_EQ(notices.size(), 1U) << node;
    EXPECT_EQ(notices[0].notice().code(), messages::proc_aborted);
    EXPECT_EQ(notices[0].notice().affected(0), 3U);
  }
  EXPECT_TRUE(sent_to(0, Kind::kSignal).empty()) << "they have the grace period first";
  wait();
  ASSERT_EQ(sent_to(0, Kind::kSignal).at(0).signal().number(), terminate);
  wait();
  ASSERT_EQ(sent_to(0, Kind::kSignal).at(0).signal().number(), killed);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    ended(rank, killed);
  }
  EXPECT_EQ(sent_to(0, Kind::kFinish).size(), 1U);
  EXPECT_EQ(sent_to(1, Kind::kFinish).size(), 1U);
  EXPECT_EQ(errors(), "") << "the first reason is the reason";
  EXPECT_EQ(launch.exit_code(), 137);
}

TEST_F(Launched, PassesTheExitCodeOfTheFirstThatFails) {
  run();
  ended(1, 3 << 8);
  ended(0, 4 << 8);
  EXPECT_EQ(launch.exit_code(), 3);
}

TEST_F(Launched, WaitsForAllRanksOfAJobThatEndsWell) {
  run();
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    ended(rank);
  }
  EXPECT_TRUE(sent_to(0, Kind::kFinish).empty()) << "rank 3 may still ask this node for something";
  ended(3);
  EXPECT_EQ(sent_to(0, Kind::kFinish).size(), 1U);
}

TEST_F(Launched, ReportsANodeThatIsLostWithItsRanks) {
  run();
  launch.lost(1, "it was killed by signal 9 (Killed)", now());
  EXPECT_NE(
      errors().find("the node daemon of ns2 is lost: it was killed by signal 9 (Killed); with "
                    "it ranks 2, 3; the other 2 ranks are notified"),
      std::string::npos);
  const auto notices = sent_to(0, Kind::kNotice);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].notice().affected_size(), 2);
  EXPECT_EQ(launch.exit_code(), 1);
}

/// A node of the job falls silent, as when its machine is dead but its channel is open.
class Silence : public Launched {
protected:
  Silence() { launch = Launch(job_of_four(), {.version = "1"}, time); }
  void alive(NodeIndex node) {
    messages::FromNode message;
    message.mutable_alive();
    launch.said(node, message, time);
  }
  /// All nodes but one send a sign of life each second.
  void pass(std::uint64_t seconds, NodeIndex dead) {
    for (const TimeNs end = time + seconds * ns_per_second; time < end;) {
      time = std::min(launch.deadline(), time + ns_per_second / 10);
      launch.time_is(time);
      if (time.value / ns_per_ms % 1000 < 100) {
        alive(1 - dead);
      }
    }
  }
};

TEST_F(Silence, OfANodeIsToldWithinFiveSecondsWithItsRanks) {
  run();
  alive(0);
  alive(1);
  pass(5, 1);
  const std::string said = errors();
  EXPECT_NE(said.find("ns2 with ranks 2, 3 has been silent for 4."), std::string::npos) << said;
  EXPECT_EQ(said.find("ns1"), std::string::npos) << said;
  EXPECT_TRUE(sent_to(0, Kind::kNotice).empty()) << "it may come back";
  pass(20, 1);
  EXPECT_EQ(errors(), "") << "once";
  alive(1);
  EXPECT_EQ(errors(), "ns2 is heard again\n");
  pass(5, 1);
  EXPECT_NE(errors().find("ns2 with ranks 2, 3"), std::string::npos);
}

TEST_F(Silence, OfAllNodesWhileTheLauncherItselfWasStoppedIsNotSaid) {
  run();
  time = time + 20 * ns_per_second;
  launch.time_is(time);
  alive(0);
  alive(1);
  pass(1, 1);
  EXPECT_EQ(errors(), "");
}

TEST_F(Launched, RanksThatWereNotToldToStartAreNotLostWithTheirNode) {
  greet();
  launch.allocated({}, {}, now());
  ready(0);
  launch.lost(1, "closed", now());
  EXPECT_EQ(errors(), "the node daemon of ns2 is lost: closed\n") << "nothing was to be started";
}

TEST_F(Launched, RanksOfWhichALostNodeSaidNothingYetAreLostWithIt) {
  greet();
  launch.allocated({}, {}, now());
  ready(0);
  ready(1);
  started(0);
  started(1);
  started(2);
  launch.lost(1, "closed", now());
  EXPECT_EQ(errors(), "the node daemon of ns2 is lost: closed; with it ranks 2, 3; the other 2 "
                      "ranks are notified, and ended within 2000 ms\n");
  EXPECT_EQ(sent_to(0, Kind::kNotice).at(0).notice().affected_size(), 2);
}

TEST_F(Launched, GivesUpADaemonThatDoesNotEnd) {
  run();
  ended(0, killed);
  wait(); // SIGTERM
  wait(); // SIGKILL
  (void)launch.take_orders();
  kept.clear();
  wait();
  std::vector<Order> orders = launch.take_orders();
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_TRUE(orders[0].give_up && orders[1].give_up);
  EXPECT_NE(errors().find("does not end"), std::string::npos);
  launch.lost(0, "given up", time);
  launch.lost(1, "given up", time);
  EXPECT_TRUE(launch.over());
  EXPECT_EQ(launch.exit_code(), 137);
}

TEST_F(Launched, PassesSignalsOn) {
  run();
  launch.signalled(10, now());
  EXPECT_EQ(sent_to(0, Kind::kSignal).at(0).signal().number(), 10);
  EXPECT_EQ(sent_to(1, Kind::kSignal).at(0).signal().number(), 10);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ended(rank);
  }
  EXPECT_EQ(launch.exit_code(), 0);
}

TEST_F(Launched, AnInterruptIsPassedOnAndTheSecondKills) {
  run();
  launch.signalled(interrupt, now());
  EXPECT_EQ(sent_to(0, Kind::kSignal).at(0).signal().number(), interrupt);
  launch.signalled(interrupt, now());
  EXPECT_EQ(sent_to(0, Kind::kSignal).at(0).signal().number(), killed);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ended(rank, interrupt);
  }
  EXPECT_EQ(launch.exit_code(), 130);
  EXPECT_EQ(errors(), "") << "who interrupts knows why ranks end";
}

TEST_F(Launched, AnInterruptThatRanksSurviveWellIsNoFailure) {
  run();
  launch.signalled(terminate, now());
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ended(rank);
  }
  EXPECT_EQ(launch.exit_code(), 0);
}

TEST_F(Launched, AnInterruptBeforeTheStartEndsIt) {
  greet();
  launch.signalled(interrupt, now());
  EXPECT_EQ(launch.exit_code(), 130);
  EXPECT_EQ(sent_to(0, Kind::kFinish).size(), 1U);
}

TEST_F(Launched, ARankMayAbortTheJob) {
  run();
  messages::FromNode message;
  message.mutable_abort()->set_rank(2);
  message.mutable_abort()->set_status(7);
  message.mutable_abort()->set_text("N/A");
  launch.said(1, message, now());
  EXPECT_NE(errors().find("rank 2 on ns2 has aborted the job with exit code 7; the other 3 ranks"),
            std::string::npos);
  EXPECT_EQ(launch.exit_code(), 7);
}

TEST_F(Launched, IgnoresWhatCannotBe) {
  run();
  ended(0);
  ended(0, killed);
  messages::FromNode message;
  message.mutable_ended()->set_rank(77);
  launch.said(0, message, now());
  message.mutable_ended()->set_rank(2); // of the other node
  message.mutable_ended()->set_status(killed);
  launch.said(0, message, now());
  message.mutable_abort()->set_rank(4000);
  launch.said(0, message, now());
  EXPECT_EQ(errors(), "");
  EXPECT_EQ(launch.exit_code(), 0);
}

} // namespace
} // namespace tributary::launch::control
