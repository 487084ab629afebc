// Members that are dead, slow, or in another call: all members learn which.
#include "world.hpp"

#include <gtest/gtest.h>

namespace tributary::reliable_multicast::test {
namespace {

World::Change with_timeout(std::uint64_t ns) {
  return [ns](Parameters& p) {
    p.group.member_timeout_ns = ns;
    p.group.in_switch = p.group.size % 2 == 0;
  };
}

TEST(a_dead_member, is_named_at_all_others_while_they_wait) {
  World world(4);
  world.kill(2);
  world.call_everywhere(broadcast_of(1, 1000));
  world.pass(10 * second);
  for (const std::uint32_t rank : {0U, 1U, 3U}) {
    const auto& suspicion = world[rank].suspicion();
    ASSERT_TRUE(suspicion) << rank;
    EXPECT_EQ(suspicion->what, Verdict::What::not_acknowledging);
    ASSERT_EQ(suspicion->missing.count, 1U);
    EXPECT_EQ(suspicion->missing.first[0], 2U);
    EXPECT_FALSE(world[rank].failure());
  }
}

TEST(a_dead_member, ends_the_group_by_name_after_the_member_timeout) {
  for (const std::uint32_t size : {3U, 4U, 5U}) {
    for (std::uint32_t dead = 1; dead < size; ++dead) {
      World world(size, with_timeout(5 * second));
      world.call_everywhere(allgather_of(std::vector<std::uint64_t>(size, 1000)));
      world.pass(60 * us);
      world.kill(dead);
      ASSERT_TRUE(world.run(60 * second));
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        if (rank != dead) {
          ASSERT_TRUE(world[rank].failure()) << rank;
          EXPECT_EQ(world[rank].failure()->missing.count, 1U);
          EXPECT_EQ(world[rank].failure()->missing.first[0], dead);
        }
      }
    }
  }
}

TEST(a_dead_root, ends_the_group_by_name_after_the_member_timeout) {
  World world(4, with_timeout(5 * second));
  world.kill(0);
  world.call_everywhere(broadcast_of(1, 1000));
  ASSERT_TRUE(world.run(60 * second));
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    ASSERT_TRUE(world[rank].failure());
    EXPECT_EQ(world[rank].failure()->missing.first[0], 0U);
  }
}

TEST(a_member_that_comes_back, is_no_longer_suspected) {
  World world(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    world.call(rank, broadcast_of(1, 1000), rank == 3 ? 8 * second : 0);
  }
  world.pass(7 * second);
  ASSERT_TRUE(world[0].suspicion());
  EXPECT_EQ(world[0].suspicion()->missing.first[0], 3U);
  ASSERT_TRUE(world.run(60 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_FALSE(world[0].suspicion());
  EXPECT_FALSE(world[1].suspicion());
}

TEST(a_member_that_receives_nothing, is_named_with_the_owner_of_what_it_lacks) {
  World world(4, with_timeout(20 * second));
  world.set_script([](std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame) {
    return from == 1 && to == 2 && is_data(frame) ? std::optional(0) : std::nullopt;
  });
  world.call_everywhere(broadcast_of(1, 1000));
  world.pass(15 * second);
  ASSERT_TRUE(world[3].suspicion());
  EXPECT_EQ(world[3].suspicion()->what, Verdict::What::lacks_chunks);
  EXPECT_EQ(world[3].suspicion()->rank, 2U);
  EXPECT_EQ(world[3].suspicion()->owner, 1U);
  EXPECT_EQ(world[3].suspicion()->chunks, 8U);
  ASSERT_TRUE(world.run(100 * second));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ASSERT_TRUE(world[rank].failure());
    EXPECT_EQ(world[rank].failure()->rank, 2U);
  }
}

TEST(calls_that_differ, end_the_group_and_name_a_member) {
  const Call root_call = broadcast_of(1, 1000);
  for (const Call& other : {broadcast_of(3, 1000), broadcast_of(1, 999), broadcast_of(1, 200'000),
                            allgather_of({250, 250, 250, 250})}) {
    World world(4);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      world.call(rank, rank == 2 ? other : root_call);
    }
    ASSERT_TRUE(world.run(100 * second));
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(world[rank].failure()) << rank;
      EXPECT_EQ(world[rank].failure()->what, Verdict::What::calls_differ);
      EXPECT_EQ(world[rank].failure()->rank, 2U);
      EXPECT_EQ(world[rank].failure()->root_call.bytes, 1000U);
    }
    EXPECT_FALSE(world.finished(2));
  }
}

TEST(a_group_ended_from_outside, tells_all_members) {
  World world(4);
  world.kill(3);
  world.call_everywhere(broadcast_of(1, 1000));
  world.pass(second);
  world[0].fail({.what = Verdict::What::ended}, world.now());
  EXPECT_TRUE(world[0].has_to_send());
  world.pass(10 * second); // leaves ask what has become of it
  for (const std::uint32_t rank : {1U, 2U}) {
    ASSERT_TRUE(world[rank].failure()) << rank;
    EXPECT_EQ(world[rank].failure()->what, Verdict::What::ended);
    EXPECT_TRUE(world[rank].is_idle());
  }
}

TEST(status, says_what_the_oldest_window_waits_for) {
  World world(4);
  EXPECT_EQ(world[3].status().state, WindowState::absent);
  world.kill(1);
  world.call_everywhere(broadcast_of(1, 1000));
  world.pass(second);
  const Status status = world[3].status();
  EXPECT_EQ(status.state, WindowState::open);
  EXPECT_EQ(status.window, 0U);
  EXPECT_EQ(status.missing, 8U);
  EXPECT_EQ(status.owner, 1U);
  EXPECT_TRUE(status.is_armed);
  EXPECT_GT(world[0].status().retries, 0U);
}

} // namespace
} // namespace tributary::reliable_multicast::test
