// Requests as etcd's gateway documents them, and its answers, also the wrong ones.
#include "controlplane/etcd/protocol/messages.hpp"

#include "controlplane/etcd/protocol/base64.hpp"
#include "tests/support/etcd_model.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::etcd::protocol {
namespace {

namespace json = boost::json;
using test::EtcdModel;

const Keys keys{"/p"};

TEST(Keys, are_below_the_prefix) {
  EXPECT_EQ(keys.of("leader"), "/p/leader");
  EXPECT_EQ(keys.record("job/a"), "/p/record/job/a");
  EXPECT_EQ(keys.record_of("/p/record/job/a"), "job/a");
  EXPECT_EQ(keys.record_of("/p/leader"), std::nullopt);
  EXPECT_EQ(keys.record_of("/p2/record/job/a"), std::nullopt);
}

TEST(Transaction, is_written_as_the_gateway_reads_it) {
  Transaction transaction;
  transaction.when({.target = Compare::Target::created, .key = "a", .revision = 7})
      .when({.target = Compare::Target::changed, .key = "a"})
      .when({.target = Compare::Target::value, .key = "a", .value = "v"})
      .put("b", "w", 12)
      .erase("c")
      .erase_range("d", "e")
      .read_otherwise("a");
  const Request request = transaction.request();
  EXPECT_EQ(request.path, "/v3/kv/txn");
  EXPECT_EQ(json::serialize(request.body),
            R"({"compare":[)"
            R"({"result":"EQUAL","key":"YQ==","target":"CREATE","create_revision":"7"},)"
            R"({"result":"EQUAL","key":"YQ==","target":"MOD","mod_revision":"0"},)"
            R"({"result":"EQUAL","key":"YQ==","target":"VALUE","value":"dg=="}],)"
            R"("success":[{"request_put":{"key":"Yg==","value":"dw==","lease":"12"}},)"
            R"({"request_delete_range":{"key":"Yw=="}},)"
            R"({"request_delete_range":{"key":"ZA==","range_end":"ZQ=="}}],)"
            R"("failure":[{"request_range":{"key":"YQ=="}}]})");
}

TEST(transaction_answer, reads_one_of_etcd_3_4) {
  // As etcd 3.4.23 writes it: no "succeeded" where it is false, integers as text.
  const json::value answer = json::parse(
      R"({"header":{"cluster_id":"14841639068965178418","member_id":"10276657743932975437",)"
      R"("revision":"9","raft_term":"2"},"responses":[{"response_range":{"header":)"
      R"({"revision":"9"},"kvs":[{"key":"YQ==","create_revision":"5","mod_revision":"8",)"
      R"("version":"3","value":"dg==","lease":"7587862094961634577"}],"count":"1"}},)"
      R"({"response_range":{"header":{"revision":"9"}}}]})");
  const TransactionAnswer read = transaction_answer(answer.as_object());
  EXPECT_FALSE(read.succeeded);
  EXPECT_EQ(read.revision, 9);
  ASSERT_EQ(read.read.size(), 2U);
  EXPECT_EQ(read.read[0], (KeyValue{.key = "a",
                                    .value = "v",
                                    .created = 5,
                                    .changed = 8,
                                    .lease = 7'587'862'094'961'634'577}));
  EXPECT_EQ(read.read[1], std::nullopt);
}

TEST(failure_of, tells_what_cannot_have_happened_from_what_may_have) {
  using Kind = Failure::Kind;
  struct Case {
    unsigned status;
    const char* body;
    Kind kind;
  };
  const Case cases[] = {
      {503, R"({"error":"etcdserver: no leader","code":14})", Kind::unknown},
      {503, R"({"error":"etcdserver: request timed out","code":14})", Kind::unknown},
      {503,
       R"({"error":"etcdserver: leader changed","message":"etcdserver: leader changed","code":14})",
       Kind::unknown},
      {504, R"({"error":"context deadline exceeded","code":4})", Kind::unknown},
      {500, R"({"error":"something new","code":2})", Kind::unknown},
      {429, R"({"error":"etcdserver: mvcc: database space exceeded","code":8})", Kind::no_room},
      {429, R"({"error":"etcdserver: too many requests","code":8})", Kind::busy},
      {401, R"({"error":"etcdserver: invalid auth token","code":16})", Kind::token},
      {403, R"({"error":"etcdserver: permission denied","code":7})", Kind::denied},
      {400,
       R"({"error":"etcdserver: authentication failed, invalid user ID or password","code":3})",
       Kind::denied},
      {400, R"({"error":"etcdserver: user name is empty","code":3})", Kind::denied},
      {400, R"({"error":"etcdserver: request is too large","code":3})", Kind::rejected},
      {404, R"({"error":"etcdserver: requested lease not found","code":5})", Kind::gone},
      {400, R"({"error":"etcdserver: mvcc: required revision has been compacted","code":11})",
       Kind::gone},
      {200, R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}})",
       Kind::unknown},
      {404, "404 page not found", Kind::rejected},
      {502, "<html>Bad Gateway</html>", Kind::unknown},
      {503, "", Kind::unknown},
      {503, "[1]", Kind::unknown},
      {500, R"({"error":7,"code":"x"})", Kind::unknown},
  };
  for (const Case& one : cases) {
    const Failure failure = failure_of(one.status, one.body);
    EXPECT_EQ(failure.kind, one.kind) << one.body;
    EXPECT_FALSE(failure.text.empty());
  }
}

TEST(lease_answer, reads_grants_and_renewals) {
  const auto read = [](const char* text) { return lease_answer(json::parse(text).as_object()); };
  EXPECT_EQ(read(R"({"header":{},"ID":"7587","TTL":"3"})").ttl_ns, 3 * ns_per_second);
  EXPECT_EQ(read(R"({"result":{"header":{},"ID":"7587","TTL":"3"}})").lease, 7587);
  EXPECT_EQ(read(R"({"result":{"header":{},"ID":"7587"}})").ttl_ns, 0U) << "it is gone";
}

TEST(ManagerValue, comes_back_as_it_was) {
  const ManagerValue manager{
      .name = "fabric-a", .instance = "5f", .addresses = {"https://a:7580"}, .epoch = 9};
  const ManagerValue read = decode_manager(encode(manager));
  EXPECT_EQ(read.name, manager.name);
  EXPECT_EQ(read.instance, manager.instance);
  EXPECT_EQ(read.addresses, manager.addresses);
  EXPECT_EQ(read.epoch, 9U);
}

class CampaignTest : public testing::Test {
protected:
  TransactionAnswer call(const Request& request) {
    return transaction_answer(etcd.call(request.path, request.body));
  }
  election::Sight look() { return sight_of(call(look_request(keys))); }

  EtcdModel etcd;
  ManagerValue a{.name = "a", .instance = "1", .addresses = {"http://a"}};
  ManagerValue b{.name = "b", .instance = "2", .addresses = {"http://b"}};
};

TEST_F(CampaignTest, takes_a_free_lead_and_raises_the_epoch_each_time) {
  EXPECT_EQ(look(), (election::Sight{.revision = 1}));
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    const std::int64_t lease = etcd.grant(3 * ns_per_second);
    const TransactionAnswer answer = call(campaign_request(keys, a, lease, look()));
    EXPECT_TRUE(answer.succeeded);
    const election::Sight sight = look();
    EXPECT_EQ(sight.epoch, epoch);
    ASSERT_TRUE(sight.leader);
    EXPECT_EQ(sight.leader->epoch, epoch);
    EXPECT_EQ(sight.leader->name, "a");
    EXPECT_EQ(sight.leader->addresses, a.addresses);
    EXPECT_EQ(sight.leader->lease, lease);
    EXPECT_EQ(sight.leader->created, answer.revision);
    EXPECT_EQ(etcd.find("/p/commit")->value, std::to_string(epoch) + "/0");
    etcd.revoke(lease);
    EXPECT_FALSE(look().leader);
  }
}

TEST_F(CampaignTest, is_lost_to_another_leader_and_to_another_epoch) {
  const election::Sight sight = look();
  const std::int64_t lease = etcd.grant(3 * ns_per_second);
  ASSERT_TRUE(call(campaign_request(keys, a, lease, sight)).succeeded);
  const TransactionAnswer lost =
      call(campaign_request(keys, b, etcd.grant(3 * ns_per_second), sight));
  EXPECT_FALSE(lost.succeeded);
  EXPECT_EQ(sight_of(lost).leader->name, "a");
  etcd.revoke(lease);
  EXPECT_FALSE(call(campaign_request(keys, b, etcd.grant(3 * ns_per_second), sight)).succeeded)
      << "the epoch has changed since it looked";
}

TEST_F(CampaignTest, a_leader_resigns_for_another_and_not_for_a_successor_of_its_own) {
  const std::int64_t lease = etcd.grant(3 * ns_per_second);
  const TransactionAnswer won = call(campaign_request(keys, a, lease, look()));
  EXPECT_FALSE(call(resign_request(keys, won.revision - 1, lease, "b")).succeeded);
  EXPECT_TRUE(call(resign_request(keys, won.revision, lease, "b")).succeeded);
  EXPECT_FALSE(look().leader);
  EXPECT_EQ(look().successor, "b");
  etcd.revoke(lease);
  EXPECT_EQ(look().successor, "") << "it is attached to the lease of the old leader";
}

TEST_F(CampaignTest, a_leader_of_another_version_leads_all_the_same) {
  const std::int64_t lease = etcd.grant(3 * ns_per_second);
  etcd.transact({}, {{EtcdModel::Operation::Kind::put, "/p/leader", {}, "v2:...", lease}}, {});
  ASSERT_TRUE(look().leader);
  EXPECT_EQ(look().leader->lease, lease);
}

TEST_F(CampaignTest, an_epoch_that_is_no_number_is_an_error_and_not_a_start_from_zero) {
  etcd.transact({}, {{EtcdModel::Operation::Kind::put, "/p/epoch", {}, "many"}}, {});
  EXPECT_THROW(static_cast<void>(look()), std::exception);
}

} // namespace
} // namespace tributary::etcd::protocol
