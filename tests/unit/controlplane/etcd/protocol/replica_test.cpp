// What a standby holds of the store: read in pages, and followed.
#include "controlplane/etcd/protocol/replica.hpp"

#include "controlplane/etcd/protocol/commit.hpp"
#include "tests/support/etcd_model.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/random_changes.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::test {
namespace {

namespace json = boost::json;
using etcd::protocol::Failure;
using etcd::protocol::Keys;
using etcd::protocol::Replica;
using etcd::protocol::WatchAnswer;
using etcd::protocol::WatchReader;

const Keys followed{"/p"};

TEST(WatchReader, finds_messages_wherever_the_bytes_are_cut) {
  const std::string stream =
      R"({"result":{"header":{"revision":"4"},"created":true}})"
      "\n"
      R"({"result":{"header":{"revision":"9"},"events":[{"kv":{"key":"L3AvYQ==","create_revision":"5","mod_revision":"5","version":"1","value":"dg=="}},{"type":"DELETE","kv":{"key":"L3AvYg==","mod_revision":"6"}}]}})"
      "\n"
      R"({"result":{"header":{"revision":"12"}}})"
      "\n";
  for (std::size_t step = 1; step <= stream.size(); step += step < 40 ? 1 : 97) {
    WatchReader reader;
    std::vector<WatchAnswer> all;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      for (WatchAnswer& answer : reader.take(std::string_view(stream).substr(at, step))) {
        all.push_back(std::move(answer));
      }
    }
    ASSERT_EQ(all.size(), 3U) << step;
    EXPECT_EQ(all[0].progress, 0) << "events before the newest revision may still come";
    ASSERT_EQ(all[1].events.size(), 2U);
    EXPECT_EQ(all[1].progress, 0);
    EXPECT_EQ(all[1].events[0].entry.value, "v");
    EXPECT_TRUE(all[1].events[1].erased);
    EXPECT_EQ(all[1].events[1].entry.changed, 6);
    EXPECT_EQ(all[2].progress, 12);
  }
}

TEST(WatchReader, says_why_a_watch_is_over) {
  const auto end = [](const char* text) { return WatchReader().take(text).at(0).end; };
  EXPECT_EQ(end(R"({"result":{"header":{},"canceled":true,"compact_revision":"7"}})")->kind,
            Failure::Kind::gone);
  EXPECT_THAT(end(R"({"result":{"header":{},"canceled":true,"cancel_reason":"no leader"}})")->text,
              testing::HasSubstr("no leader"));
  EXPECT_EQ(end(R"({"error":{"message":"etcdserver: permission denied","http_code":403}})")->text,
            "etcdserver: permission denied");
  EXPECT_THROW(static_cast<void>(WatchReader().take("<html>")), std::exception);
  EXPECT_THROW(static_cast<void>(WatchReader().take("{}")), std::exception);
}

/// Writes through Commit, and a replica that reads a part and follows the rest.
TEST(Replica, agrees_with_the_store_whenever_it_began_to_read) {
  for (std::uint64_t round = 0; round < 50 / TRIBUTARY_SEED_DIVISOR; ++round) {
    EtcdModel etcd;
    RandomChanges random(seed() + round);
    MemoryDisk expected;
    const std::int64_t lease = etcd.grant(3 * ns_per_second);
    etcd.transact({},
                  {{EtcdModel::Operation::Kind::put,
                    "/p/leader",
                    {},
                    etcd::protocol::encode(
                        etcd::protocol::ManagerValue{.name = "a", .instance = "1", .epoch = 1}),
                    lease},
                   {EtcdModel::Operation::Kind::put, "/p/commit", {}, "1/0"}},
                  {});
    const etcd::protocol::Fence fence{"leader", etcd.revision(), "1"};
    Replica replica(followed);
    std::uint64_t sequence = 0;
    std::size_t seen = 0;
    for (int write = 0; write < 30; ++write) {
      if (write == static_cast<int>(round % 30)) {
        replica.clear();
        const auto all = etcd::protocol::range_answer(etcd.call(
            "/v3/kv/range", etcd::protocol::range_request(followed.of(""), "/p0", 0, 0).body));
        for (const etcd::protocol::KeyValue& entry : all.found) {
          replica.add(entry);
        }
        replica.complete(all.revision);
        seen = 0; // a watch may repeat what was read
      }
      const auto changes = random.next();
      expected.apply(changes);
      etcd::protocol::Commit commit(followed, fence, sequence,
                                    etcd::protocol::parts_of(changes, {.operations = 7}));
      while (commit.state() == etcd::protocol::Commit::State::running) {
        const etcd::protocol::Request request = commit.request();
        commit.answered(etcd.call(request.path, request.body));
      }
      sequence = commit.sequence();
    }
    WatchReader reader;
    for (const json::object& message : etcd.watch_messages(seen, "/p/", "/p0")) {
      for (const WatchAnswer& answer : reader.take(json::serialize(message) + "\n")) {
        replica.apply(answer);
      }
    }
    ASSERT_TRUE(same_content(replica.records().snapshot(), expected.load(1))) << "round " << round;
    EXPECT_EQ(replica.leader().value().lease, lease);
    EXPECT_EQ(replica.revision(), etcd.revision());
  }
}

TEST(Replica, knows_the_leader_and_the_registered_managers) {
  EtcdModel etcd;
  const std::int64_t lease = etcd.grant(3 * ns_per_second);
  const std::string a =
      etcd::protocol::encode(etcd::protocol::ManagerValue{.name = "a", .instance = "1"});
  using Kind = EtcdModel::Operation::Kind;
  etcd.transact({},
                {{Kind::put, "/p/manager/a", {}, a, lease},
                 {Kind::put, "/p/manager/b", {}, "of the future", 0},
                 {Kind::put, "/p/leader", {}, a, lease}},
                {});
  Replica replica(followed);
  WatchReader reader;
  const auto follow = [&] {
    for (const json::object& message : etcd.watch_messages(0, "/p/", "/p0")) {
      for (const WatchAnswer& answer : reader.take(json::serialize(message))) {
        replica.apply(answer);
      }
    }
  };
  follow();
  ASSERT_EQ(replica.managers().size(), 2U);
  EXPECT_EQ(replica.managers()[0].instance, "1");
  EXPECT_EQ(replica.managers()[1].name, "b");
  EXPECT_TRUE(replica.leader());
  etcd.revoke(lease);
  follow();
  EXPECT_FALSE(replica.leader());
  EXPECT_EQ(replica.managers().size(), 1U);
}

} // namespace
} // namespace tributary::test
