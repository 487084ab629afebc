#include "endpoint/manager_client/membership.hpp"

#include "fake_manager.hpp"
#include "tests/support/error_of.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

namespace tributary::manager_client::test {
namespace {

using tributary::test::error_of;

using namespace std::chrono_literals;
using Kind = ManagerError::Kind;

const std::string membership_json =
    R"({"group": "demo", "job": "j1", "state": "ready", "rank": 3, "size": 16, "vni": 1024,
        "cookie": 2051772869, "root_rank": 1, "root_nid": 7, "trees": [5, 9], "disjoint": false,
        "lease_seconds": 30, "slots": 8, "payload": 32, "in_switch_results": false})";
const std::string group_json =
    R"({"name": "demo", "job": "j1", "state": "receiving_join_req", "size": 16, "joined": 14,
        "missing": [{"rank": 3, "why": "has not joined"},
                    {"rank": 5, "nid": 6, "why": "joined, but no switch has learned of its host"}],
        "text": "waits for 2 of 16 members"})";

JoinRequest request() {
  JoinRequest w;
  w.group = "demo";
  w.rank = 3;
  w.size = 16;
  w.trees = 2;
  w.nid = Nid{0x12345};
  w.host = "h3";
  return w;
}

/// Answers the requests with these, in order; the last one again and again.
FakeManager::Handler in_turn(std::vector<FakeResponse> responses) {
  return [responses, next = std::make_shared<std::size_t>(0)](const FakeRequest&) {
    const FakeResponse response = responses[*next];
    *next = std::min(*next + 1, responses.size() - 1);
    return response;
  };
}

TEST(Membership, JoiningGivesWhatAMemberNeeds) {
  FakeManager manager(in_turn({{.status = 202, .body = group_json}, {.body = membership_json}}));
  ManagerClient client(manager.settings());
  JoinRequest w = request();
  w.job = "j1";
  w.step = "0";
  w.root_rank = 1;
  const Membership m = join(client, w, 30s);
  EXPECT_EQ(m.job, "j1");
  EXPECT_EQ(m.vni, Vni{1024});
  EXPECT_EQ(m.cookie, Cookie{2051772869});
  EXPECT_EQ(m.root_rank, 1U);
  EXPECT_EQ(m.root_nid, Nid{7});
  EXPECT_EQ(m.trees, (std::vector{TreeNumber{5}, TreeNumber{9}}));
  EXPECT_FALSE(m.disjoint);
  EXPECT_EQ(m.lease, 30s);

  const auto requests = manager.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_TRUE(requests[0].target.starts_with("/api/v1/groups/demo/members?wait="))
      << requests[0].target;
  EXPECT_EQ(boost::json::parse(requests[0].body),
            boost::json::parse(R"({"rank": 3, "size": 16, "mac": "02:00:00:01:23:45", "trees": 2,
                                   "job": "j1", "jobStepID": "0", "host": "h3",
                                   "root_rank": 1})"));
}

TEST(Membership, GroupThatDoesNotBecomeReadyNamesWhoIsMissingAndIsTakenBack) {
  FakeManager manager(in_turn({{.status = 202, .body = group_json}}));
  ManagerClient client(manager.settings());
  const ManagerError error =
      error_of<ManagerError>([&] { static_cast<void>(join(client, request(), 0s)); }).value();
  EXPECT_EQ(error.kind(), Kind::not_ready);
  EXPECT_NE(
      std::string(error.what())
          .find("waits for rank 3 (has not joined), rank 5 (joined, but no switch has learned "
                "of its host)"),
      std::string::npos)
      << error.what();
  const auto requests = manager.requests();
  EXPECT_EQ(requests.back().method, "DELETE");
  EXPECT_EQ(requests.back().target, "/api/v1/groups/j1/demo/members/3");
}

TEST(Membership, ManagerThatDoesNotHoldItsAnswerIsNotFlooded) {
  FakeManager manager(in_turn({{.status = 202, .body = group_json}}));
  ManagerClient client(manager.settings());
  EXPECT_EQ(error_of<ManagerError>([&] { static_cast<void>(join(client, request(), 350ms)); })
                .value()
                .kind(),
            Kind::not_ready);
  EXPECT_LE(manager.requests().size(), 6U);
}

TEST(Membership, RefusalKeepsTheManagersWords) {
  FakeManager manager(in_turn({{.status = 409, .body = R"({"message": "16 members, not 15"})"}}));
  ManagerClient client(manager.settings());
  const ManagerError error =
      error_of<ManagerError>([&] { static_cast<void>(join(client, request(), 30s)); }).value();
  EXPECT_EQ(error.kind(), Kind::refused);
  EXPECT_EQ(error.status(), 409U);
  EXPECT_NE(std::string(error.what()).find("16 members, not 15"), std::string::npos);
  EXPECT_EQ(manager.requests().size(), 1U) << "a contradiction is not asked about again";
}

TEST(Membership, GroupThatIsEndingIsWaitedFor) {
  FakeManager manager(in_turn({{.status = 409,
                                .body = R"({"message": "group 'demo' is being destroyed"})",
                                .fields = {{"Retry-After", "1"}}},
                               {.body = membership_json}}));
  ManagerClient client(manager.settings());
  EXPECT_EQ(join(client, request(), 30s).job, "j1");
}

TEST(Membership, RestartOfTheManagerWhileJoiningDoesNotShow) {
  FakeManager manager(in_turn({{.hang_up = true}, {.hang_up = true}, {.body = membership_json}}));
  ManagerClient client(manager.settings());
  EXPECT_EQ(join(client, request(), 30s).job, "j1");
}

TEST(Membership, SaysWhatTheHostTakesOfWideFramesAndReadsWhatTheGroupHas) {
  boost::json::value body = boost::json::parse(membership_json);
  body.as_object()["slots"] = 32;
  body.as_object()["payload"] = 1408;
  FakeManager manager(in_turn({{.body = boost::json::serialize(body)}}));
  ManagerClient client(manager.settings());
  JoinRequest wide = request();
  wide.slots = 64;
  wide.payload = 8896;
  const Membership m = join(client, wide, 0s);
  EXPECT_EQ(m.slots, 32U);
  EXPECT_EQ(m.payload, 1408U);
  const boost::json::object sent = boost::json::parse(manager.requests().at(0).body).as_object();
  EXPECT_EQ(sent.at("slots"), 64);
  EXPECT_EQ(sent.at("payload"), 8896);
}

TEST(Membership, OfAGroupWithoutWideFramesHasNone) {
  FakeManager manager(in_turn({{.body = membership_json}}));
  ManagerClient client(manager.settings());
  JoinRequest wide = request();
  wide.slots = 64;
  wide.payload = 8896;
  const Membership m = join(client, wide, 0s);
  EXPECT_EQ(m.slots, 8U);
  EXPECT_EQ(m.payload, 32U);
}

TEST(Membership, AsksForInSwitchResultsAndReadsWhetherTheGroupHasThem) {
  boost::json::value body = boost::json::parse(membership_json);
  body.as_object()["trees"] = boost::json::array{5};
  body.as_object()["in_switch_results"] = true;
  boost::json::value not_so = boost::json::parse(membership_json);
  not_so.as_object()["in_switch_results"] = false;
  not_so.as_object()["in_switch_note"] = "rank 3 (NID 4) does not know them";
  FakeManager manager(in_turn({{.body = boost::json::serialize(body)},
                               {.body = boost::json::serialize(not_so)},
                               {.body = membership_json},
                               {.body = membership_json}}));
  ManagerClient client(manager.settings());
  JoinRequest asking = request();
  asking.in_switch_results = true;
  EXPECT_TRUE(join(client, asking, 0s).in_switch_results);
  const Membership refused = join(client, request(), 0s);
  EXPECT_FALSE(refused.in_switch_results);
  EXPECT_EQ(refused.in_switch_note, "rank 3 (NID 4) does not know them");
  static_cast<void>(join(client, asking, 0s));
  asking.in_switch_results = false;
  static_cast<void>(join(client, asking, 0s));
  const auto sent = [&](std::size_t number) {
    return boost::json::parse(manager.requests().at(number).body).as_object();
  };
  EXPECT_EQ(sent(3).at("in_switch_results"), false);
  EXPECT_EQ(sent(0).at("in_switch_results"), true);
  EXPECT_FALSE(sent(1).contains("in_switch_results"));
}

TEST(Membership, WithFramesThatCannotBeOrThatTheHostDoesNotTakeIsGarbled) {
  const auto fault_with = [](std::uint32_t slots, std::uint32_t payload) {
    boost::json::value body = boost::json::parse(membership_json);
    body.as_object()["slots"] = slots;
    body.as_object()["payload"] = payload;
    FakeManager manager(in_turn({{.body = boost::json::serialize(body)}}));
    ManagerClient client(manager.settings());
    JoinRequest wide = request();
    wide.slots = 64;
    wide.payload = 1408;
    const ManagerError error =
        error_of<ManagerError>([&] { static_cast<void>(join(client, wide, 0s)); }).value();
    EXPECT_EQ(error.kind(), Kind::garbled) << error.what();
    return std::string(error.what());
  };
  EXPECT_NE(fault_with(12, 1408).find("no tree can have them"), std::string::npos);
  EXPECT_NE(fault_with(16, 1400).find("no tree can have them"), std::string::npos);
  EXPECT_NE(fault_with(16, 32).find("no tree can have them"), std::string::npos);
  EXPECT_NE(fault_with(256, 1408).find("slots is 256"), std::string::npos);
  EXPECT_NE(fault_with(64, 1472).find("takes 64 and 1408 at most"), std::string::npos);
  EXPECT_NE(fault_with(128, 1408).find("takes 64 and 1408 at most"), std::string::npos);
}

TEST(Membership, WhatCannotBeUnderstoodIsGarbledAndNamed) {
  const auto fault_with = [](std::string_view key, const boost::json::value& value) {
    boost::json::value body = boost::json::parse(membership_json);
    body.as_object()[key] = value;
    FakeManager manager(in_turn({{.body = boost::json::serialize(body)}}));
    ManagerClient client(manager.settings());
    const ManagerError error =
        error_of<ManagerError>([&] { static_cast<void>(join(client, request(), 0s)); }).value();
    EXPECT_EQ(error.kind(), Kind::garbled) << error.what();
    return std::string(error.what());
  };
  EXPECT_NE(fault_with("vni", 65536).find("vni is 65536"), std::string::npos);
  EXPECT_NE(fault_with("root_rank", 16).find("root_rank is 16"), std::string::npos);
  EXPECT_NE(fault_with("root_nid", 1 << 20).find("root_nid"), std::string::npos);
  EXPECT_NE(fault_with("trees", {8192}).find("tree 8192"), std::string::npos);
  EXPECT_NE(fault_with("trees", boost::json::array{}).find("0 trees"), std::string::npos);
  EXPECT_NE(fault_with("trees", {1, 2, 3}).find("3 trees"), std::string::npos);
  fault_with("cookie", -1);
  fault_with("cookie", "x");
  fault_with("job", nullptr);
  fault_with("lease_seconds", "soon");
}

TEST(Membership, AskingOnceDoesNotWait) {
  FakeManager manager(in_turn({{.status = 202, .body = group_json}, {.body = membership_json}}));
  ManagerClient client(manager.settings());
  EXPECT_FALSE(ask_to_join(client, request()));
  EXPECT_EQ(manager.requests()[0].target, "/api/v1/groups/demo/members?wait=0");
  EXPECT_TRUE(ask_to_join(client, request()));
}

TEST(Membership, RenewingAndLeaving) {
  FakeManager manager(
      in_turn({{.body = R"({"lease_seconds": 9, "absent": []})"},
               {.status = 404},
               {.status = 409, .body = R"({"message": "it was destroyed on request"})"},
               {},
               {.status = 404},
               {.status = 403}}));
  ManagerClient client(manager.settings());
  JoinRequest w = request();
  w.group = "a/b";
  Membership m;
  m.job = "j1";
  m.cookie = Cookie{7};
  using Outcome = Renewal::Outcome;
  EXPECT_EQ(renew(client, w, m).outcome, Outcome::renewed);
  EXPECT_EQ(renew(client, w, m).outcome, Outcome::forgotten);
  const Renewal over = renew(client, w, m);
  EXPECT_EQ(over.outcome, Outcome::over);
  EXPECT_EQ(over.news.over_because, "it was destroyed on request");
  leave(client, w, "j1");
  leave(client, w, "j1"); // unknown there: as good as left
  EXPECT_EQ(error_of<ManagerError>([&] { leave(client, w, "j1"); }).value().status(), 403U);
  const auto requests = manager.requests();
  EXPECT_EQ(requests[0].method, "PUT");
  EXPECT_EQ(requests[0].target, "/api/v1/groups/j1/a%2Fb/members/3/lease");
  EXPECT_EQ(requests[3].method, "DELETE");
}

TEST(Membership, ARenewalTellsWhoIsAbsentAndWhetherItIsStillTheSameGroup) {
  FakeManager manager(in_turn(
      {{.body = R"({"lease_seconds": 9, "cookie": 7, "absent": [)"
                R"({"rank": 2, "nid": 5, "host": "h2", "why": "its lease ended", "gone": true},)"
                R"({"rank": 0, "nid": 6, "host": "", "why": "not heard", "gone": false}]})"},
       {.body = R"({"lease_seconds": 9, "cookie": 8})"},
       {.status = 410, .body = R"({"message": "the group ended"})"},
       {.body = R"({"absent": [{"rank": 99, "nid": 1}]})"}}));
  ManagerClient client(manager.settings());
  Membership m;
  m.job = "j1";
  m.cookie = Cookie{7};
  const Renewal renewal = renew(client, request(), m);
  ASSERT_EQ(renewal.news.absent.size(), 2U);
  EXPECT_EQ(renewal.news.absent[0],
            (Absent{.rank = 2, .nid = 5, .host = "h2", .why = "its lease ended", .gone = true}));
  EXPECT_FALSE(renewal.news.absent[1].gone);
  EXPECT_TRUE(renewal.news.over_because.empty());
  EXPECT_EQ(renew(client, request(), m).outcome, Renewal::Outcome::over) << "another cookie";
  EXPECT_EQ(renew(client, request(), m).news.over_because, "the group ended");
  EXPECT_EQ(error_of<ManagerError>([&] { static_cast<void>(renew(client, request(), m)); })
                .value()
                .kind(),
            ManagerError::Kind::garbled);
}

} // namespace
} // namespace tributary::manager_client::test
