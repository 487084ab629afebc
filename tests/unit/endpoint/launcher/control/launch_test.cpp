#include "launched.hpp"

namespace tributary::launch::control {
namespace {

std::vector<std::string> names(const std::vector<Step>& steps) {
  std::vector<std::string> all;
  for (const Step& step : steps) {
    all.push_back(std::to_string(step.phase) + " " + step.what);
  }
  return all;
}

TEST_F(Launched, GoesThroughItsPhasesInOrder) {
  EXPECT_FALSE(launch.greeted());
  greet();
  EXPECT_TRUE(launch.greeted());
  EXPECT_TRUE(sent_to(0, Kind::kJob).empty())
      << "no node is notified before there is an allocation";
  messages::Value vni;
  vni.set_name("fm.vni");
  vni.set_number(1030);
  messages::Node first;
  first.set_fabric_address("02:00:00:00:00:01");
  launch.allocated({vni}, {first}, now());
  for (const NodeIndex node : {0U, 1U}) {
    const auto jobs = sent_to(node, Kind::kJob);
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].job().own_node(), node);
    EXPECT_EQ(jobs[0].job().allocation(0).number(), 1030U);
    EXPECT_EQ(jobs[0].job().nodes(0).fabric_address(), "02:00:00:00:00:01");
    EXPECT_EQ(jobs[0].job().nodes_size(), 2) << "every node knows all of them";
  }
  ready(0);
  EXPECT_TRUE(sent_to(0, Kind::kStart).empty()) << "no rank starts before every node is ready";
  ready(1);
  EXPECT_EQ(sent_to(0, Kind::kStart).size(), 1U);
  EXPECT_EQ(sent_to(1, Kind::kStart).size(), 1U);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    started(rank);
  }
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    messages::FromNode message;
    message.mutable_connected()->set_rank(rank);
    launch.said(rank / 2, message, now());
  }
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ended(rank);
  }
  EXPECT_EQ(names(launch.steps()),
            (std::vector<std::string>{"0 begun", "0 nodes greeted", "2 allocated", "3 nodes ready",
                                      "4 ranks started", "4 ranks connected"}));
  EXPECT_EQ(sent_to(0, Kind::kFinish).size(), 1U);
  EXPECT_EQ(sent_to(1, Kind::kFinish).size(), 1U);
  EXPECT_FALSE(launch.over());
  launch.lost(0, "closed", now());
  launch.lost(1, "closed", now());
  EXPECT_TRUE(launch.over());
  EXPECT_EQ(launch.exit_code(), 0);
  EXPECT_EQ(launch.deadline(), never);
  EXPECT_EQ(errors(), "");
}

TEST_F(Launched, WarnsOnceOfRanksThatBeginAgain) {
  run();
  const auto say = [&](std::uint32_t rank, bool connected) {
    messages::FromNode message;
    (connected ? message.mutable_connected() : message.mutable_finalized())->set_rank(rank);
    launch.said(rank / 2, message, now());
  };
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    say(rank, true);
  }
  say(3, false);
  EXPECT_EQ(errors(), "");
  say(3, true);
  EXPECT_NE(errors().find("rank 3 on ns2 has ended PMIx and begins again"), std::string::npos);
  say(1, false);
  say(1, true);
  EXPECT_EQ(errors(), "");
}

TEST_F(Launched, SaysOnceThatNothingReducesForRanksWhoseMpiWasNotFound) {
  launch.expect_mpi(MpiUse::unseen);
  run();
  EXPECT_EQ(errors(), "");
  for (const std::uint32_t rank : {2U, 3U}) {
    messages::FromNode message;
    message.mutable_connected()->set_rank(rank);
    launch.said(1, message, now());
  }
  const std::string said = errors();
  EXPECT_NE(said.find("rank 2 on ns2 has begun MPI"), std::string::npos) << said;
  EXPECT_NE(said.find("which MPI library app uses was not found; --mpi"), std::string::npos);
  EXPECT_EQ(said.find("rank 3"), std::string::npos) << said;
}

TEST_F(Launched, FailsWhenNoRankCallsMpiInitWhereOneHasTo) {
  launch.expect_mpi(MpiUse::required);
  run();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ended(rank);
  }
  EXPECT_EQ(errors(), "") << "the last one may still";
  ended(3);
  EXPECT_NE(errors().find("no rank has called MPI_Init"), std::string::npos);
  EXPECT_EQ(launch.exit_code(), 1);
  EXPECT_EQ(sent_to(0, Kind::kFinish).size(), 1U);
  launch.lost(0, "closed", now());
  launch.lost(1, "closed", now());
  EXPECT_TRUE(launch.over());
}

TEST_F(Launched, OneRankThatCalledMpiInitIsEnough) {
  launch.expect_mpi(MpiUse::required);
  run();
  messages::FromNode message;
  message.mutable_connected()->set_rank(1);
  launch.said(0, message, now());
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ended(rank);
  }
  EXPECT_EQ(errors(), "");
  EXPECT_EQ(launch.exit_code(), 0);
}

TEST_F(Launched, AFailureBeforeMpiInitIsTheReasonOfTheEnd) {
  launch.expect_mpi(MpiUse::required);
  run();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ended(rank);
  }
  ended(3, 3 << 8);
  const std::string said = errors();
  EXPECT_NE(said.find("ended with exit code 3"), std::string::npos) << said;
  EXPECT_EQ(said.find("MPI_Init"), std::string::npos) << said;
  EXPECT_EQ(launch.exit_code(), 3);
}

/// What ranks are given as the address of rank 0.
messages::Job job_with_master(bool nodes_have_names, const std::string& ip) {
  TimeNs time{ns_per_second};
  Launch launch(job_of_four(),
                {.silent_after = {}, .version = "1", .nodes_have_names = nodes_have_names}, time);
  messages::FromNode message;
  message.mutable_hello()->set_protocol(messages::launch_protocol);
  message.mutable_hello()->set_version("1");
  message.mutable_hello()->set_free_port(4711);
  messages::Interface& down = *message.mutable_hello()->add_interfaces();
  down.set_ip("10.9.9.9");
  message.mutable_hello()->add_interfaces()->set_up(true); // without an IP address
  messages::Interface& up = *message.mutable_hello()->add_interfaces();
  up.set_up(true);
  up.set_ip(ip);
  launch.said(0, message, time);
  launch.said(1, message, time);
  launch.allocated({}, {}, time);
  for (const Order& order : launch.take_orders()) {
    if (order.message.has_job()) {
      return order.message.job();
    }
  }
  ADD_FAILURE() << "no job was sent";
  return {};
}

TEST(Master, IsReachedByTheNameOfItsNodeOrOnStandInNodesByAnAddress) {
  EXPECT_EQ(job_with_master(true, "10.0.0.1").master_address(), "ns1");
  EXPECT_EQ(job_with_master(true, "10.0.0.1").master_port(), 4711U);
  EXPECT_EQ(job_with_master(false, "10.0.0.1").master_address(), "10.0.0.1");
  EXPECT_EQ(job_with_master(false, "").master_address(), "");
  EXPECT_EQ(job_with_master(false, "").master_port(), 0U);
}

TEST_F(Launched, RefusesAnotherVersion) {
  messages::FromNode message = hello();
  message.mutable_hello()->set_version("2");
  launch.said(1, message, now());
  EXPECT_NE(errors().find("ns2 has tributary-run 2"), std::string::npos);
  EXPECT_EQ(launch.exit_code(), 1);
}

TEST_F(Launched, RefusesAnotherProtocol) {
  messages::FromNode message = hello();
  message.mutable_hello()->set_protocol(messages::launch_protocol + 1);
  launch.said(0, message, now());
  EXPECT_NE(errors().find("install the same version"), std::string::npos);
}

TEST_F(Launched, RefusesADaemonThatDoesNotKnowTheSecret) {
  Launch guarded(job_of_four(), {.version = "1", .secret = "s"}, time);
  guarded.said(0, hello(), now());
  EXPECT_NE(guarded.take_errors().at(0).find("was not started by"), std::string::npos);
}

TEST_F(Launched, EndsWhenANodeCannotBeReached) {
  launch.lost(1, "ssh ended with exit code 255", now());
  EXPECT_EQ(errors(), "no node daemon on ns2: ssh ended with exit code 255\n");
  launch.said(0, hello(), now());
  EXPECT_FALSE(launch.over());
  // The wait for the other one ends with the countdown, whatever it does.
  for (int times = 0; times < 8 && !launch.over(); ++times) {
    wait();
    for (const Order& order : launch.take_orders()) {
      if (order.give_up) {
        launch.lost(order.node, "given up", time);
      }
    }
  }
  EXPECT_TRUE(launch.over());
  EXPECT_EQ(launch.exit_code(), 1);
}

TEST_F(Launched, EndsWhenNodesAreNotReadyInTime) {
  launch.said(0, hello(), now());
  wait();
  EXPECT_NE(errors().find("not ready after 60 s: ns2"), std::string::npos);
  EXPECT_EQ(launch.exit_code(), 1);
}

TEST_F(Launched, EndsWhenTheFabricManagerDoesNotAnswerInTime) {
  greet();
  wait();
  EXPECT_NE(errors().find("fabric manager"), std::string::npos);
}

TEST_F(Launched, EndsWhenANodeCannotSetUp) {
  greet();
  launch.allocated({}, {}, now());
  ready(0);
  ready(1, "its loopback interface is down");
  EXPECT_EQ(errors(), "ns2 cannot take part: its loopback interface is down\n");
  EXPECT_TRUE(sent_to(0, Kind::kStart).empty());
  EXPECT_EQ(sent_to(0, Kind::kFinish).size(), 1U) << "nothing runs there";
}

TEST_F(Launched, EndsWhenARankCannotBeStarted) {
  greet();
  launch.allocated({}, {}, now());
  ready(0);
  ready(1);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    started(rank, "./app: No such file or directory");
  }
  EXPECT_NE(errors().find("rank 0 cannot be started on ns1: ./app: No such file"),
            std::string::npos);
  EXPECT_EQ(launch.exit_code(), 127);
  EXPECT_EQ(sent_to(0, Kind::kFinish).size(), 1U);
}

TEST_F(Launched, CannotStartWithoutWhatIsRequired) {
  greet();
  launch.cannot_start("no fabric manager", now());
  EXPECT_EQ(errors(), "no fabric manager\n");
  EXPECT_EQ(sent_to(0, Kind::kFinish).size(), 1U);
  EXPECT_EQ(sent_to(1, Kind::kFinish).size(), 1U);
  EXPECT_EQ(launch.exit_code(), 1);
}

} // namespace
} // namespace tributary::launch::control
