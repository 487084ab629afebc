// Writes against a model of etcd whose network loses, delays and repeats requests.
#include "controlplane/etcd/protocol/commit.hpp"

#include "tests/support/etcd_model.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/random_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace tributary::test {
namespace {

using etcd::protocol::Commit;
using etcd::protocol::Failure;
using etcd::protocol::Fence;
using etcd::protocol::Keys;
using etcd::protocol::Reply;
using etcd::protocol::Request;
using State = Commit::State;

const Keys keys{"/tributary/fabric"};

Reply lost() { return Failure{Failure::Kind::unknown, "no answer"}; }

class CommitTest : public testing::Test {
protected:
  CommitTest() { lead(); }

  /// A manager takes the lead from the one before.
  void lead() {
    if (const auto* const old = model.find(keys.of("leader"))) {
      model.revoke(old->lease);
    }
    const std::int64_t lease = model.grant(3 * ns_per_second);
    const auto sight = etcd::protocol::sight_of(
        etcd::protocol::transaction_answer(body(etcd::protocol::look_request(keys))));
    const Request request =
        etcd::protocol::campaign_request(keys, {.name = "a", .instance = "1"}, lease, sight);
    const auto answer = etcd::protocol::transaction_answer(body(request));
    ASSERT_TRUE(answer.succeeded);
    fence = {"leader", answer.revision, std::to_string(sight.epoch + 1)};
    sequence = 0;
  }
  boost::json::object body(const Request& request) {
    return std::get<boost::json::object>(call(request));
  }
  Reply call(const Request& request) {
    try {
      return model.call(request.path, request.body);
    } catch (const EtcdModel::Error& error) {
      return etcd::protocol::failure_of(400, boost::json::serialize(boost::json::object{
                                                 {"error", error.what()}, {"code", error.code}}));
    }
  }
  Commit begin(std::span<const records::Change> changes, std::size_t operations = 126) {
    return {keys, fence, sequence, etcd::protocol::parts_of(changes, {.operations = operations})};
  }
  State run(Commit& commit) {
    while (commit.state() == State::running) {
      commit.answered(call(commit.request()));
    }
    sequence = commit.sequence();
    return commit.state();
  }
  [[nodiscard]] records::Snapshot stored() const {
    record_text::RecordMap map;
    for (const auto& [key, entry] : model.entries()) {
      if (const auto record = keys.record_of(key)) {
        map.put(*record, entry.value);
      }
    }
    return map.snapshot();
  }

  EtcdModel model;
  Fence fence;
  std::uint64_t sequence = 0;
};

TEST_F(CommitTest, writes_parts_in_order_and_stays_within_the_limits) {
  MemoryDisk expected;
  std::vector<records::Change> changes = whole_group(1, 1000);
  expected.apply(changes);
  Commit commit = begin(changes);
  EXPECT_EQ(run(commit), State::done);
  EXPECT_TRUE(same_content(stored(), expected.load(1)));
  EXPECT_EQ(sequence, 8U);
  EXPECT_LE(model.largest_operations, 128U);
  EXPECT_EQ(model.largest_operations, 127U) << "parts are as large as may be";
}

TEST_F(CommitTest, an_answer_that_was_lost_is_found_at_the_repetition) {
  Commit commit = begin(whole_group(1, 2));
  static_cast<void>(call(commit.request())); // it happens, and the answer is lost
  commit.answered(lost());
  EXPECT_EQ(commit.state(), State::running);
  EXPECT_TRUE(commit.pauses());
  EXPECT_EQ(commit.unknown_attempts(), 1U);
  const std::int64_t revision = model.revision();
  EXPECT_EQ(run(commit), State::done);
  EXPECT_EQ(model.revision(), revision) << "it was written twice";
  EXPECT_EQ(sequence, 1U);
}

TEST_F(CommitTest, a_request_that_arrives_late_changes_nothing) {
  Commit first = begin(std::vector<records::Change>{records::AddressRecord{"trees", 1}});
  const Request late = first.request();
  first.answered(lost());
  ASSERT_EQ(run(first), State::done);
  Commit second = begin(std::vector<records::Change>{records::AddressRecord{"trees", 2}});
  ASSERT_EQ(run(second), State::done);
  EXPECT_FALSE(etcd::protocol::transaction_answer(body(late)).succeeded);
  EXPECT_EQ(stored().addresses.at(0).next, 2U) << "a later write was undone";
}

TEST_F(CommitTest, a_manager_that_was_replaced_is_fenced_and_stores_nothing) {
  const Fence old = fence;
  Commit commit = begin(whole_group(1, 2));
  Commit confirmation = begin({});
  lead();
  EXPECT_EQ(run(commit), State::fenced);
  EXPECT_EQ(run(confirmation), State::fenced);
  EXPECT_TRUE(stored().groups.empty());
  // Also without another leader: its lease is over.
  model.revoke(model.find(keys.of("leader"))->lease);
  Commit orphan(keys, old, 0, etcd::protocol::parts_of(whole_group(1, 2)));
  EXPECT_EQ(run(orphan), State::fenced);
}

TEST_F(CommitTest, a_manager_that_is_replaced_between_parts_is_fenced_there) {
  Commit commit = begin(whole_group(1, 4), 2);
  commit.answered(call(commit.request()));
  lead();
  EXPECT_EQ(run(commit), State::fenced);
  EXPECT_TRUE(stored().groups.empty()) << "members come before their group";
}

TEST_F(CommitTest, a_confirmation_changes_nothing) {
  const std::int64_t revision = model.revision();
  Commit commit = begin({});
  EXPECT_EQ(run(commit), State::done);
  EXPECT_EQ(model.revision(), revision);
  EXPECT_EQ(sequence, 0U);
}

TEST_F(CommitTest, without_room_a_write_is_refused_and_a_confirmation_is_not) {
  model.full = true;
  Commit commit = begin(whole_group(1, 2));
  EXPECT_EQ(run(commit), State::refused);
  EXPECT_EQ(commit.failure().kind, Failure::Kind::no_room);
  Commit confirmation = begin({});
  EXPECT_EQ(run(confirmation), State::done);
  model.full = false;
  Commit again = begin(whole_group(1, 2));
  EXPECT_EQ(run(again), State::done);
}

TEST_F(CommitTest, what_may_be_stored_in_part_is_not_refused) {
  Commit after_lost = begin(whole_group(1, 2));
  after_lost.answered(lost());
  Commit after_part = begin(whole_group(2, 4), 2);
  after_part.answered(call(after_part.request()));
  model.full = true;
  for (Commit* const commit : {&after_lost, &after_part}) {
    for (int i = 0; i < 3; ++i) {
      commit->answered(call(commit->request()));
      EXPECT_EQ(commit->state(), State::running);
      EXPECT_TRUE(commit->pauses());
    }
  }
}

TEST_F(CommitTest, nonsense_is_an_unknown_outcome) {
  Commit commit = begin(whole_group(1, 2));
  for (const char* const text : {"{}", R"({"header":{}})", R"({"header":{"revision":"x"}})",
                                 R"({"succeeded":1,"header":{"revision":"1"}})"}) {
    commit.answered(boost::json::parse(text).as_object());
    EXPECT_EQ(commit.state(), State::running) << text;
    EXPECT_TRUE(commit.pauses());
  }
}

/// Random losses, delays and repetitions: etcd holds what was acknowledged, in order.
TEST_F(CommitTest, agrees_with_ordered_maps_over_a_bad_network) {
  for (std::uint64_t round = 0; round < 100 / TRIBUTARY_SEED_DIVISOR; ++round) {
    model = EtcdModel();
    lead();
    RandomChanges random(seed() + round);
    Random network(seed() + round);
    std::deque<Request> delayed;
    MemoryDisk expected;
    for (int write = 0; write < 40; ++write) {
      const auto changes = random.next();
      Commit commit = begin(changes, 2 + network() % 10);
      while (commit.state() == State::running) {
        switch (network() % 6) {
        case 0: commit.answered(lost()); break;
        case 1:
          delayed.push_back(commit.request());
          commit.answered(lost());
          break;
        case 2:
          static_cast<void>(call(commit.request()));
          commit.answered(lost());
          break;
        case 3:
          if (!delayed.empty()) {
            static_cast<void>(call(delayed.front()));
            delayed.pop_front();
          }
          break;
        default: commit.answered(call(commit.request()));
        }
      }
      ASSERT_EQ(commit.state(), State::done);
      sequence = commit.sequence();
      expected.apply(changes);
      ASSERT_TRUE(same_content(stored(), expected.load(1))) << "round " << round;
    }
  }
}

} // namespace
} // namespace tributary::test
