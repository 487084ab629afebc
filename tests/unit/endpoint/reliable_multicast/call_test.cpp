// Calls on a network without losses: every byte right, each chunk sent once, by each kind of tree.
#include "world.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tributary::reliable_multicast::test {
namespace {

enum class Tree { root_adds, in_switch, twin, unarmed };

World::Change on(Tree tree) {
  return [tree](Parameters& p) {
    p.group.in_switch = tree == Tree::in_switch;
    p.group.armed = tree != Tree::unarmed;
    if (tree == Tree::twin) {
      p.group.twin = TreeNumber{0xABD};
    }
  };
}

std::string name_of(const testing::TestParamInfo<Tree>& tree) {
  switch (tree.param) {
  case Tree::root_adds: return "root_adds";
  case Tree::in_switch: return "in_switch";
  case Tree::twin: return "twin";
  case Tree::unarmed: return "unarmed";
  }
  return "";
}

class Calls : public testing::TestWithParam<Tree> {};
INSTANTIATE_TEST_SUITE_P(Trees, Calls,
                         testing::Values(Tree::root_adds, Tree::in_switch, Tree::twin,
                                         Tree::unarmed),
                         name_of);

TEST_P(Calls, broadcast_from_any_rank_any_number_of_bytes) {
  for (const std::uint32_t root : {0U, 1U, 4U}) {
    for (const std::uint64_t bytes : {0ULL, 1ULL, 39ULL, 40ULL, 41ULL, 320ULL, 321ULL, 5000ULL}) {
      World world(5, on(GetParam()));
      world.call_everywhere(broadcast_of(root, bytes));
      ASSERT_TRUE(world.run(second)) << root << ", " << bytes;
      ASSERT_TRUE(world.all_right()) << root << ", " << bytes;
      ASSERT_EQ(world.shared_sent(), (bytes + 39) / 40);
    }
  }
}

TEST_P(Calls, allgather_any_number_of_bytes) {
  for (const std::uint64_t bytes : {0ULL, 1ULL, 40ULL, 41ULL, 1000ULL}) {
    World world(5, on(GetParam()));
    world.call_everywhere(allgather_of(std::vector<std::uint64_t>(5, bytes)));
    ASSERT_TRUE(world.run(second)) << bytes;
    ASSERT_TRUE(world.all_right()) << bytes;
    ASSERT_EQ(world.shared_sent(), 5 * ((bytes + 39) / 40));
  }
}

TEST_P(Calls, allgather_of_different_numbers_of_bytes) {
  World world(5, on(GetParam()));
  world.call_everywhere(allgather_of({0, 3000, 1, 0, 77}));
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(world.shared_sent(), 75U + 1 + 2);
}

TEST_P(Calls, follow_each_other_and_overlap) {
  World world(4, on(GetParam()));
  for (std::uint32_t i = 0; i < 30; ++i) {
    const Call call = i % 3 == 2 ? allgather_of({i, 10 * i, 0, 100}) : broadcast_of(i % 4, 37 * i);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      world.call(rank, call, rank * i * 3 * us, i % 2 == 0);
    }
  }
  ASSERT_TRUE(world.run(10 * second));
  EXPECT_TRUE(world.all_right());
}

TEST_P(Calls, of_a_member_that_is_late_find_its_data_kept) {
  World world(4, on(GetParam()));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    world.call(rank, broadcast_of(1, 1280), rank == 2 ? 5 * second : 0);
  }
  ASSERT_TRUE(world.run(20 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(world[2].statistics().early, 32U); // four windows of eight: no more can come
  EXPECT_EQ(world[2].statistics().beyond_window, 0U);
}

TEST_P(Calls, wait_for_a_root_that_is_late) {
  World world(4, on(GetParam()));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    world.call(rank, broadcast_of(3, 2000), rank == 0 ? 30 * second : 0);
  }
  ASSERT_TRUE(world.run(60 * second));
  EXPECT_TRUE(world.all_right());
}

TEST_P(Calls, go_on_after_a_pause_longer_than_engines_hold) {
  World world(4, on(GetParam()));
  world.call_everywhere(broadcast_of(1, 500));
  ASSERT_TRUE(world.run(second));
  world.pass(60 * second);
  world.reducer().forget(); // their timers have ended
  world.call_everywhere(allgather_of({50, 60, 70, 80}));
  ASSERT_TRUE(world.run(5 * second));
  EXPECT_TRUE(world.all_right());
}

TEST(broadcast, of_few_bytes_costs_its_root_one_frame_and_no_wait) {
  World world(4);
  world.call_everywhere(broadcast_of(2, 8));
  world.pass(1); // the calls have begun, and nothing has arrived anywhere
  EXPECT_TRUE(world.finished(2));
  EXPECT_FALSE(world.finished(1));
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(world[2].statistics().chunks_sent, 1U);
}

TEST(broadcast, of_few_bytes_keeps_a_copy_of_its_own) {
  World world(3);
  bool loses = true;
  world.set_script([&](std::uint32_t from, std::uint32_t, std::span<const std::byte> frame) {
    const bool shared = wire::is_shared(wire::dfa_of(frame.data() + wire::ethernet_header_bytes));
    return shared && from == 1 && loses ? std::optional(0) : std::nullopt;
  });
  world.call_everywhere(broadcast_of(1, 8));
  world.pass(ms);
  ASSERT_TRUE(world.finished(1));
  loses = false;
  ASSERT_TRUE(world.run(10 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_GT(world[1].statistics().chunks_resent, 0U);
}

TEST(broadcast, of_more_than_the_eager_bytes_returns_when_all_have_it) {
  World world(3);
  world.kill(2);
  world.call_everywhere(broadcast_of(1, 8 * 40)); // a window, and more than 160 bytes
  world.pass(second);
  EXPECT_FALSE(world.finished(1));
  EXPECT_TRUE(world.finished(0)); // a receiver need not wait for others
}

TEST(broadcasts, of_few_bytes_flow_as_many_calls_deep_as_there_are_windows) {
  World world(3);
  for (int i = 0; i < 8; ++i) {
    for (std::uint32_t rank : {0U, 1U}) { // 2 calls nothing yet
      world.call(rank, broadcast_of(0, 8));
    }
  }
  world.pass(second);
  EXPECT_TRUE(world.finished(0, 3));
  EXPECT_FALSE(world.finished(0, 4));
  EXPECT_EQ(world[0].statistics().chunks_sent, 4U);
  for (int i = 0; i < 8; ++i) {
    world.call(2, broadcast_of(0, 8));
  }
  ASSERT_TRUE(world.run(10 * second));
  EXPECT_TRUE(world.all_right());
}

TEST(windows, keep_the_links_busy_without_loss) {
  World world(8, [](Parameters& p) {
    p.chunk_bytes = 1408;
    p.window_chunks = 64;
    p.group.in_switch = true;
  });
  world.set_rate(200'000'000);
  const TimeNs begun = world.now();
  world.call_everywhere(broadcast_of(3, 1U << 20U));
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  const std::uint64_t bound = (std::uint64_t{1} << 20) * 8 * 5; // ns at 200 Mbit/s
  EXPECT_LT(elapsed_ns(world.now(), begun), bound * 115 / 100);
  EXPECT_EQ(world[3].statistics().chunks_resent, 0U);
}

} // namespace
} // namespace tributary::reliable_multicast::test
