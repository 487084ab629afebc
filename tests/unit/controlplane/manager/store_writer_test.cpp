// When changes are written, and their fate when the store rejects them.
#include "controlplane/turns/store_writer.hpp"

#include "tests/unit/controlplane/manager/quiet_environment.hpp"

#include <gtest/gtest.h>

#include <variant>

namespace tributary::manager {
namespace {

using Written = turns::StoreWriter::Written;

class StoreWriterTest : public ::testing::Test {
protected:
  StoreWriterTest() {
    graph.add_switch({.name = "leaf0", .guid = 1, .ports = 4, .up = true});
    graph.add_host({.name = "h4", .nid = Nid{4}, .at = {topology::SwitchId{0}, 0}});
  }
  void let_the_pause_pass() {
    for (int i = 0; i < 3; ++i) {
      world.pass_ms(400);
      static_cast<void>(clock.now());
    }
    store.begin({.now = clock.now()});
  }
  QuietEnvironment world;
  turns::ManagerClock clock{world};
  turns::StallDetector stalls{world};
  turns::Events events{world, 1};
  turns::StoreWriter store{world, clock, stalls, events};
  topology::Graph graph;
};

TEST_F(StoreWriterTest, nothing_is_written_where_there_is_nothing) {
  EXPECT_FALSE(store.write_waiting(graph));
  EXPECT_EQ(store.next_deadline({}), never);
  EXPECT_TRUE(world.writes.empty());
}

TEST_F(StoreWriterTest, topology_alone_waits_for_a_second) {
  store.touch(Nid{4});
  EXPECT_FALSE(store.write_waiting(graph));
  EXPECT_EQ(store.next_deadline({}).value, world.time.value + 1'000'000'000);
  for (int i = 0; i < 5; ++i) {
    world.pass_ms(200);
    static_cast<void>(clock.now());
  }
  EXPECT_TRUE(store.write_waiting(graph));
  EXPECT_TRUE(store.is_writing());
  ASSERT_EQ(world.writes.size(), 1U);
  ASSERT_EQ(world.writes[0].size(), 1U);
  EXPECT_EQ(std::get<records::HostRecord>(world.writes[0][0]).nid, Nid{4});
  EXPECT_EQ(store.stored(""), Written::waiting);
  EXPECT_EQ(store.next_deadline({}), never);
}

TEST_F(StoreWriterTest, topology_goes_with_what_else_is_written) {
  store.touch(Nid{4});
  store.add({records::DrainRecord{"leaf0"}});
  EXPECT_TRUE(store.write_waiting(graph));
  ASSERT_EQ(world.writes.size(), 1U);
  EXPECT_EQ(world.writes[0].size(), 2U);
}

TEST_F(StoreWriterTest, what_a_write_did_not_bring_to_disk_is_written_again_after_a_pause) {
  store.touch(Nid{4});
  store.add({records::DrainRecord{"leaf0"}});
  ASSERT_TRUE(store.write_waiting(graph));
  EXPECT_EQ(store.stored("disk full"), Written::waiting);
  EXPECT_TRUE(store.is_failing());
  EXPECT_EQ(store.failure(), "disk full");
  EXPECT_FALSE(store.write_waiting(graph)) << "not at once";
  let_the_pause_pass();
  ASSERT_TRUE(store.write_waiting(graph));
  ASSERT_EQ(world.writes.size(), 2U);
  EXPECT_EQ(world.writes[1].size(), 2U) << "the host, too";
  EXPECT_EQ(store.stored(""), Written::waiting);
  EXPECT_FALSE(store.is_failing());
}

TEST_F(StoreWriterTest, requests_that_were_written_are_not_kept_here) {
  store.write_requests({records::DrainRecord{"leaf0"}});
  EXPECT_TRUE(store.is_writing());
  EXPECT_EQ(store.stored("disk full"), Written::requests);
  EXPECT_FALSE(store.is_writing());
  let_the_pause_pass();
  EXPECT_FALSE(store.write_waiting(graph)) << "the caller takes them back";
}

TEST_F(StoreWriterTest, requests_for_changes_are_refused_while_the_store_cannot_write) {
  std::vector<unsigned> answers;
  const api::Reply reply = [&answers](const api::Answer& answer) {
    answers.push_back(answer.status);
  };
  EXPECT_FALSE(store.refuses(reply));
  store.is_away("no such folder");
  EXPECT_FALSE(store.is_failing()) << "with the next turn";
  EXPECT_TRUE(store.notice_away());
  EXPECT_FALSE(store.notice_away()) << "once";
  EXPECT_TRUE(store.refuses(reply));
  EXPECT_EQ(answers, std::vector<unsigned>{503});
}

} // namespace
} // namespace tributary::manager
