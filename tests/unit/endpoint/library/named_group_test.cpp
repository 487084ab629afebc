// Groups joined by name: two hosts at the ends of a veth pair, and a fabric manager simulated by
// the test. Trees need no switch here (library_test.cpp).
#include "endpoint/library/hello_sender.hpp"
#include "group_record.hpp"
#include "host_pair_test.hpp"
#include "lib/link/raw_socket.hpp"
#include "tests/support/eventually.hpp"
#include "tributary/tributary.h"
#include "tributary/wire/hello.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace tributary::library::test {
namespace {

using namespace std::chrono_literals;
using link::test::left_nid;
using manager_client::test::FakeManager;
using tributary::test::eventually;

class NamedGroupTest : public HostPairTest {
protected:
  [[nodiscard]] tributary_named_group_options member(std::uint32_t rank) const {
    tributary_named_group_options o = tributary_named_group_defaults("demo");
    o.rank = rank;
    o.size = 2;
    o.manager_url = url.c_str();
    o.token = "";
    o.wait_usec = 20'000'000;
    return o;
  }
  /// Both join, each waiting for the other.
  void join_both(std::uint32_t trees = 1) {
    on_both([&](std::uint32_t rank) {
      tributary_named_group_options who = member(rank);
      who.trees = trees;
      return tributary_join_named(host[rank], &who, &group[rank]);
    });
    ASSERT_EQ(code, (std::array{0, 0})) << tributary_last_error(host[0]) << "\n"
                                        << tributary_last_error(host[1]);
  }
  /// The other two exist only in the manager.
  void join_as_root_of_three() {
    record.admit(1);
    record.admit(2);
    tributary_named_group_options root = member(0);
    root.size = 3;
    ASSERT_EQ(tributary_join_named(host[0], &root, &group[0]), TRIBUTARY_OK)
        << tributary_last_error(host[0]);
  }
  /// The first to finish keeps driving its host: only it has what the other one lost.
  void on_both(const std::function<int(std::uint32_t)>& f) {
    std::atomic<int> done = 0;
    const auto on_one = [&](std::uint32_t rank) {
      code[rank] = f(rank);
      for (++done; done != 2; std::this_thread::sleep_for(1ms)) {
        tributary_progress(host[rank]);
      }
    };
    std::thread other([&] { on_one(1); });
    on_one(0);
    other.join();
  }
  void leave_both() {
    on_both([&](std::uint32_t rank) { return tributary_leave(group[rank]); });
  }
  /// One sum of both ranks' numbers.
  void expect_reduction() {
    std::array<std::int64_t, 2> sum{};
    on_both([&](std::uint32_t rank) {
      const std::int64_t mine = rank + 1;
      return tributary_allreduce(group[rank], &mine, &sum[rank], 1, TRIBUTARY_INT64, TRIBUTARY_SUM,
                                 nullptr);
    });
    EXPECT_EQ(code, (std::array{0, 0}));
    EXPECT_EQ(sum, (std::array<std::int64_t, 2>{3, 3}));
  }
  static std::string status(const tributary_group* group) {
    std::string text(2000, '\0');
    text.resize(static_cast<std::size_t>(tributary_status_text(group, text.data(), text.size())));
    return text;
  }

  GroupRecord record;
  FakeManager manager{record.handler()};
  std::string url = manager.url();
  std::array<int, 2> code{};
};

TEST_F(NamedGroupTest, MembersSayWhatTheyTakeAndReduceInTheFramesThatTheGroupHas) {
  record.give({.slots = 16, .payload = 1408});
  join_both();
  const boost::json::object said = record.request_of(1);
  EXPECT_EQ(said.at("payload"), 1408) << "an MTU of 1500";
  EXPECT_EQ(said.at("slots"), 128);
  tributary_membership m{};
  ASSERT_EQ(tributary_get_membership(group[1], &m), TRIBUTARY_OK);
  EXPECT_EQ(m.slots, 16U);
  EXPECT_EQ(m.payload, 1408U);
  // Floats exist only in wide frames.
  std::array<float, 2> sum{};
  on_both([&](std::uint32_t rank) {
    const float mine = rank == 0 ? 0.5F : 0.25F;
    return tributary_allreduce(group[rank], &mine, &sum[rank], 1, TRIBUTARY_FLOAT, TRIBUTARY_SUM,
                               nullptr);
  });
  EXPECT_EQ(code, (std::array{0, 0}));
  EXPECT_EQ(sum, (std::array{0.75F, 0.75F}));
  leave_both();
}

TEST_F(NamedGroupTest, AMemberMayAskForLess) {
  on_both([&](std::uint32_t rank) {
    tributary_named_group_options who = member(rank);
    who.protocol.payload = rank == 0 ? 512 : 32;
    who.protocol.slots = 32;
    return tributary_join_named(host[rank], &who, &group[rank]);
  });
  ASSERT_EQ(code, (std::array{0, 0})) << tributary_last_error(host[0]);
  EXPECT_EQ(record.request_of(0).at("payload"), 512);
  EXPECT_EQ(record.request_of(0).at("slots"), 32);
  EXPECT_FALSE(record.request_of(1).contains("payload")) << "no wide frames, as of old";
  tributary_membership m{};
  ASSERT_EQ(tributary_get_membership(group[0], &m), TRIBUTARY_OK);
  EXPECT_EQ(m.slots, 8U);
  EXPECT_EQ(m.payload, 32U);
  leave_both();
}

TEST_F(NamedGroupTest, SlotsThatCannotBeAreRefusedBeforeTheManagerIsAsked) {
  tributary_named_group_options who = member(0);
  who.protocol.slots = 12;
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("8, 16, 32, 64 or 128"),
            std::string::npos);
  EXPECT_EQ(record.joins(), 0U);
}

TEST_F(NamedGroupTest, ARecreatedGroupIsRequestedWithTheSameFramesAndFollowedWithThem) {
  record.give({.slots = 16, .payload = 1408});
  join_both();
  record.forget_and_give({.trees = {78}, .cookie = 0xABCE, .slots = 16, .payload = 1408});
  const auto tree = [&](std::uint32_t rank) {
    tributary_membership m{};
    tributary_get_membership(group[rank], &m);
    return m.tree;
  };
  EXPECT_TRUE(eventually([&] {
    tributary_progress(host[0]);
    tributary_progress(host[1]);
    return tree(0) == 78 && tree(1) == 78;
  }));
  EXPECT_EQ(record.request_of(0).at("slots"), 16) << "not what it could take at first";
  EXPECT_EQ(record.request_of(0).at("payload"), 1408);
  expect_reduction();
  leave_both();
}

TEST_F(NamedGroupTest, MembersGetTheirTreeFromTheManagerAndLeaveThereToo) {
  join_both();
  tributary_membership m{};
  ASSERT_EQ(tributary_get_membership(group[1], &m), TRIBUTARY_OK);
  EXPECT_EQ(m.tree, 77U);
  EXPECT_EQ(m.twin_tree, TRIBUTARY_NO_TREE);
  EXPECT_EQ(m.vni, 9);
  EXPECT_EQ(m.cookie, 0xABCDU);
  EXPECT_EQ(m.root_rank, 0U);
  EXPECT_EQ(m.root_nid, left_nid);
  EXPECT_EQ(m.lease_msec, 300U);
  EXPECT_EQ(record.host_of(0),
            library::HelloSender("left", 0x88B5, Nid{1}, library::machine_name()).host_name());
  expect_reduction();
  leave_both();
  EXPECT_EQ(code, (std::array{0, 0})) << tributary_last_error(host[0]);
  EXPECT_EQ(record.leavings(), 2U);
  EXPECT_EQ(record.members(), 0U);
}

TEST_F(NamedGroupTest, TwinTreesWork) {
  record.forget_and_give({.trees = {5, 6}});
  join_both(2);
  tributary_membership m{};
  ASSERT_EQ(tributary_get_membership(group[0], &m), TRIBUTARY_OK);
  EXPECT_EQ(m.tree, 5U);
  EXPECT_EQ(m.twin_tree, 6U);
  EXPECT_EQ(m.disjoint, 1);
  EXPECT_NE(status(group[0]).find("trees 5 and 6: root"), std::string::npos);
  for (int i = 0; i < 20; ++i) {
    expect_reduction();
  }
  tributary_statistics s{};
  ASSERT_EQ(tributary_get_statistics(group[0], &s), TRIBUTARY_OK);
  EXPECT_EQ(s.won_on_first + s.won_on_second, 20U);
  leave_both();
  EXPECT_EQ(code, (std::array{0, 0}));
}

TEST_F(NamedGroupTest, HostAnnouncesItselfBeforeItAsks) {
  tributary_close(std::exchange(host[1], nullptr)); // through AF_XDP it would have them all
  link::RawSocket listener("right", wire::default_ethertype);
  tributary_named_group_options who = member(0);
  who.wait_usec = 0;
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_NOT_READY);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("rank 1 (has not joined)"),
            std::string::npos)
      << tributary_last_error(host[0]);
  EXPECT_EQ(record.members(), 0U) << "the manager does not wait for it any more";
  tributary_close(host[0]);
  host[0] = nullptr;
  std::vector<wire::Hello> hellos;
  ASSERT_TRUE(eventually([&] {
    for (const FrameView& frame : listener.receive()) {
      wire::Hello hello;
      if (wire::decode(std::span<const std::byte>(frame.data, frame.length),
                       wire::default_ethertype, hello) == wire::HelloError::none) {
        hellos.push_back(hello);
      }
    }
    return !hellos.empty() && hellos.back().interval_ms == 0;
  }));
  ASSERT_GE(hellos.size(), 2U);
  EXPECT_EQ(hellos.front().kind, wire::HelloKind::host);
  EXPECT_EQ(hellos.front().nid, Nid{left_nid});
  EXPECT_EQ(hellos.front().port_name, "left");
  EXPECT_GE(hellos.front().interval_ms, 1000);
  EXPECT_EQ(hellos.back().interval_ms, 0) << "it leaves";
}

TEST_F(NamedGroupTest, LeasesAreRenewedWithoutAnyCall) {
  join_both();
  ASSERT_TRUE(eventually([&] { return record.renewals() >= 6; }));
  EXPECT_EQ(record.joins(), 2U);
  EXPECT_NE(status(group[0]).find("group 'demo' of job 'j1' at unix:"), std::string::npos);
  EXPECT_EQ(status(group[0]).find("failing for"), std::string::npos);
  leave_both();
  const std::uint64_t renewals = record.renewals();
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(record.renewals(), renewals) << "nothing is renewed once it was left";
}

TEST_F(NamedGroupTest, RestartOfTheManagerIsRiddenOut) {
  join_both();
  ASSERT_TRUE(eventually([&] { return record.renewals() >= 2; }));
  manager.stop();
  // It may first see the end of an existing connection.
  ASSERT_TRUE(eventually([&] {
    const std::string text = status(group[0]);
    return text.find("failing for") != std::string::npos &&
           text.find("is tributary-fabricd running there?") != std::string::npos;
  }));
  expect_reduction();
  manager.start();
  const std::uint64_t renewals = record.renewals();
  ASSERT_TRUE(eventually([&] { return record.renewals() >= renewals + 4; }));
  EXPECT_EQ(status(group[0]).find("failing for"), std::string::npos);
  EXPECT_EQ(record.joins(), 2U) << "no member had to join again";
  leave_both();
  EXPECT_EQ(code, (std::array{0, 0}));
}

TEST_F(NamedGroupTest, ForgottenGroupIsJoinedAgainAndMovesWhereItIsGiven) {
  join_both();
  expect_reduction();
  record.forget_and_give({.trees = {1000}, .vni = 12, .cookie = 77, .lease_seconds = 0.3});
  ASSERT_TRUE(eventually([&] { return record.joins() == 4; }));
  for (int i = 0; i < 5; ++i) {
    expect_reduction();
  }
  const auto moved = [&](std::uint32_t rank) {
    tributary_membership m{};
    tributary_progress(host[rank]);
    tributary_get_membership(group[rank], &m);
    return m.tree == 1000 && m.vni == 12 && m.cookie == 77;
  };
  ASSERT_TRUE(eventually([&] { return moved(0) && moved(1); }));
  expect_reduction();
  ASSERT_TRUE(eventually(
      [&] { return status(group[1]).find("joined again on other trees") != std::string::npos; }));
  leave_both();
  EXPECT_EQ(code, (std::array{0, 0}));
}

TEST_F(NamedGroupTest, ACallThatWaitsEndsWhenTheManagerSaysThatAMemberIsGone) {
  join_both();
  expect_reduction();
  record.miss({{.rank = 1, .why = "its lease ended", .gone = true}});
  EXPECT_EQ(tributary_barrier(group[0]), TRIBUTARY_ERR_MEMBER_MISSING);
  const std::string message = tributary_last_error(host[0]);
  EXPECT_NE(message.find("rank 1 (host node2: its lease ended) is gone"), std::string::npos)
      << message;
  EXPECT_NE(status(group[0]).find("the group has ended: the fabric manager reports that rank 1"),
            std::string::npos);
  EXPECT_EQ(tributary_leave(group[0]), TRIBUTARY_OK);
  // Both the root and the manager reported it to the leaf: it accepts neither about itself.
  EXPECT_EQ(tributary_barrier(group[1]), TRIBUTARY_ERR_MEMBER_MISSING);
}

TEST_F(NamedGroupTest, WhoLeftBecauseAnotherOneDiedIsNotNamedWithIt) {
  join_as_root_of_three();
  record.miss({{.rank = 1, .why = "it left", .gone = true, .left = true},
               {.rank = 2, .why = "its lease ended", .gone = true}});
  EXPECT_EQ(tributary_barrier(group[0]), TRIBUTARY_ERR_MEMBER_MISSING);
  const std::string message = tributary_last_error(host[0]);
  EXPECT_NE(message.find("rank 2 (host node3: its lease ended) is gone"), std::string::npos)
      << message;
  EXPECT_EQ(message.find("rank 1"), std::string::npos) << message;
}

TEST_F(NamedGroupTest, WhoLeftWhileOthersStillReduceIsNamed) {
  join_as_root_of_three();
  record.miss({{.rank = 1, .why = "it left", .gone = true, .left = true}});
  EXPECT_EQ(tributary_barrier(group[0]), TRIBUTARY_ERR_MEMBER_MISSING);
  const std::string message = tributary_last_error(host[0]);
  EXPECT_NE(message.find("rank 1 (host node2: it left) is gone"), std::string::npos) << message;
}

TEST_F(NamedGroupTest, ARootWhoseOwnLeaseEndedSaysSoAndItsLeafNamesIt) {
  join_both();
  record.expire(0);
  EXPECT_EQ(tributary_barrier(group[0]), TRIBUTARY_ERR_MEMBER_MISSING);
  const std::string own = tributary_last_error(host[0]);
  EXPECT_NE(own.find("this member's lease"), std::string::npos) << own;
  EXPECT_EQ(tributary_barrier(group[1]), TRIBUTARY_ERR_MEMBER_MISSING);
  const std::string other = tributary_last_error(host[1]);
  EXPECT_NE(other.find("rank 0"), std::string::npos) << other;
}

TEST_F(NamedGroupTest, AMemberWhoseHostIsNotHeardIsNamedAndWaitedFor) {
  join_both();
  record.miss({{.rank = 1, .why = "no switch has seen its host"}});
  tributary_request* request = nullptr;
  ASSERT_EQ(tributary_barrier_start(group[0], &request), TRIBUTARY_OK);
  ASSERT_TRUE(eventually([&] {
    tributary_progress(host[0]);
    return status(group[0]).find("misses rank 1") != std::string::npos;
  }));
  EXPECT_EQ(tributary_wait(&request, 1000, nullptr), TRIBUTARY_ERR_TIMEOUT);
  const std::string message = tributary_last_error(host[0]);
  EXPECT_NE(message.find("rank 1 (host node2: no switch has seen its host)"), std::string::npos)
      << message;
}

TEST_F(NamedGroupTest, AGroupThatTheManagerEndedEndsItsCallsAndIsNotJoinedAgain) {
  join_both();
  record.end("group 'demo' of job j1 was destroyed on request");
  for (const int rank : {0, 1}) {
    EXPECT_EQ(tributary_barrier(group[rank]), TRIBUTARY_ERR_GROUP_ENDED);
  }
  const std::string message = tributary_last_error(host[0]);
  EXPECT_NE(message.find("destroyed on request"), std::string::npos) << message;
  EXPECT_EQ(record.joins(), 2U);
}

TEST_F(NamedGroupTest, ManagerThatIsAwayWhenLeavingIsSaid) {
  join_both();
  manager.stop();
  leave_both();
  EXPECT_EQ(code, (std::array<int, 2>{TRIBUTARY_ERR_MANAGER_UNREACHABLE,
                                      TRIBUTARY_ERR_MANAGER_UNREACHABLE}));
}

TEST_F(NamedGroupTest, ClosingWithoutLeavingEndsAtOnceWhateverTheManagerDoes) {
  join_both();
  std::atomic<bool> answered = false;
  manager.set_handler([&](const auto& request) {
    manager.hold(20s); // a renewal that hangs
    answered = true;
    return record.handler()(request);
  });
  const std::size_t before = manager.requests().size();
  ASSERT_TRUE(eventually([&] { return manager.requests().size() > before; }));
  tributary_close(host[0]);
  tributary_close(host[1]);
  host[0] = host[1] = nullptr;
  EXPECT_FALSE(answered) << "the renewal was not waited for";
  EXPECT_EQ(record.leavings(), 0U);
  manager.stop();
}

TEST_F(NamedGroupTest, ChildOfForkClosesOnlyItsOwnPart) {
  join_both();
  const pid_t child = ::fork();
  if (child == 0) {
    tributary_close(host[0]);
    tributary_close(host[1]);
    ::_exit(0);
  }
  int ended = -1;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << ended;
  const std::uint64_t renewals = record.renewals();
  ASSERT_TRUE(eventually([&] { return record.renewals() >= renewals + 4; }));
  expect_reduction();
  leave_both();
  EXPECT_EQ(code, (std::array{0, 0}));
}

TEST_F(NamedGroupTest, RefusalsAndFaultyOptionsAreReported) {
  tributary_named_group_options who = member(0);
  manager.set_handler([](const auto&) -> manager_client::test::FakeResponse {
    return {.status = 409, .body = R"({"message": "group 'demo' has 3 members, not 2"})"};
  });
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_MANAGER_REFUSED);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("has 3 members, not 2"),
            std::string::npos);
  const std::size_t asked = manager.requests().size();
  who.rank = 2;
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("rank 2"), std::string::npos);
  who = member(0);
  who.name = "";
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_ARGUMENT);
  who = member(0);
  who.trees = 3;
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_ARGUMENT);
  who = member(0);
  who.manager_url = "ftp://fm";
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(std::string(tributary_last_error(host[0])).find("neither unix:"), std::string::npos);
  EXPECT_EQ(tributary_join_named(nullptr, &who, &group[0]), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(manager.requests().size(), asked) << "the manager was not bothered";
  manager.stop();
  who = member(0);
  who.wait_usec = 0;
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_MANAGER_UNREACHABLE);
  EXPECT_EQ(group[0], nullptr);
}

TEST_F(NamedGroupTest, TreeThatThisHostUsesAlreadyIsGivenBack) {
  tributary_group_options fixed = tributary_group_defaults();
  fixed.tree = 77;
  fixed.size = 2;
  fixed.rank = 0;
  tributary_group* first = nullptr;
  ASSERT_EQ(tributary_join(host[0], &fixed, &first), TRIBUTARY_OK);
  tributary_named_group_options who = member(0);
  who.size = 1;
  EXPECT_EQ(tributary_join_named(host[0], &who, &group[0]), TRIBUTARY_ERR_TREE_IN_USE);
  EXPECT_EQ(record.leavings(), 1U);
}

} // namespace
} // namespace tributary::library::test
