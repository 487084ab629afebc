// Losses, duplicates and frames that are overtaken, by seeds; and each single loss by a script.
#include "world.hpp"

#include "endpoint/collective/sequence.hpp"

#include <gtest/gtest.h>

namespace tributary::reliable_multicast::test {
namespace {

wire::SharedFrame chunk_in(std::span<const std::byte> frame) {
  wire::SharedFrame chunk;
  EXPECT_EQ(wire::decode(frame, wire::default_ethertype, chunk), wire::DecodeError::none);
  return chunk;
}
wire::ReductionWord word_in(std::span<const std::byte> frame) {
  return wire::load_word(frame.data() + wire::ethernet_header_bytes);
}

/// A random program of a random group, with random faults.
void run_seed(std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  const auto size = static_cast<std::uint32_t>(random.between(2, 9));
  const std::uint64_t kind = random.below(4);
  const auto root = static_cast<std::uint32_t>(random.below(size));
  const auto windows = std::uint32_t{1} << random.below(3);
  const auto chunks = static_cast<std::uint32_t>(random.between(1, 20));
  World world(
      size,
      [&](Parameters& p) {
        p.group.root_rank = root;
        p.group.root_nid = nid_of_rank(root);
        p.group.in_switch = kind == 1;
        p.group.armed = kind != 3;
        if (kind == 2) {
          p.group.twin = TreeNumber{0xABD};
        }
        p.group.slots = windows;
        p.window_chunks = chunks;
        p.eager_bytes = 40 * (seed % 5);
      },
      seed);
  world.set_faults({.loss = static_cast<double>(random.below(4)) * 0.04,
                    .duplicate = static_cast<double>(random.below(3)) * 0.05,
                    .delay = static_cast<double>(random.below(3)) * 0.05});
  const std::uint64_t calls = random.between(1, 12);
  for (std::uint64_t i = 0; i < calls; ++i) {
    Call call;
    if (random.chance(0.5)) {
      call = broadcast_of(static_cast<std::uint32_t>(random.below(size)), random.below(3000));
    } else {
      call = allgather_of({});
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        call.sizes.push_back(random.chance(0.3) ? 0 : random.below(400));
      }
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      world.call(rank, call, random.below(2 * ms), random.chance(0.5));
    }
  }
  ASSERT_TRUE(world.run(3000 * second));
  ASSERT_TRUE(world.all_right());
}

TEST(losses, of_any_frames_cost_time_and_no_byte) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    run_seed(seed);
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

/// Loses the first frames that `matches`, and counts them.
struct LoseOnce {
  std::function<bool(std::uint32_t from, std::uint32_t to, std::span<const std::byte>)> matches;
  int lost = 0;
  int limit = 1;
  std::optional<int> operator()(std::uint32_t from, std::uint32_t to,
                                std::span<const std::byte> frame) {
    if (lost < limit && matches(from, to, frame)) {
      ++lost;
      return 0;
    }
    return std::nullopt;
  }
};

World::Script once(LoseOnce& lose) {
  return [&lose](std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame) {
    return lose(from, to, frame);
  };
}

TEST(a_lost_chunk, that_others_overtake_is_sent_again_without_any_timer) {
  World world(4);
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && is_data(frame) && chunk_in(frame).chunk == 3;
  }};
  world.set_script(once(lose));
  const TimeNs begun = world.now();
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(lose.lost, 1);
  EXPECT_LT(elapsed_ns(world.now(), begun), 2 * ms);
  EXPECT_EQ(world[2].statistics().overtaken, 1U);
  EXPECT_EQ(world[2].statistics().gaps, 0U);
  EXPECT_EQ(world[1].statistics().chunks_resent, 2U); // the only one of its round goes twice
}

TEST(a_lost_chunk, that_nothing_overtakes_is_missed_after_the_gap) {
  World world(4);
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && is_data(frame) && chunk_in(frame).chunk == 7;
  }};
  world.set_script(once(lose));
  const TimeNs begun = world.now();
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(world[2].statistics().gaps, 1U);
  EXPECT_GE(elapsed_ns(world.now(), begun), 10 * ms);
  EXPECT_LT(elapsed_ns(world.now(), begun), 30 * ms); // before the root's timer
}

TEST(a_lost_chunk, of_a_window_is_overtaken_by_the_next_window) {
  World world(4);
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && is_data(frame) && chunk_in(frame).window == 0 && chunk_in(frame).chunk == 7;
  }};
  world.set_script(once(lose));
  const TimeNs begun = world.now();
  world.call_everywhere(broadcast_of(1, 400));
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_LT(elapsed_ns(world.now(), begun), 5 * ms);
}

TEST(a_lost_chunk, kept_early_is_overtaken_when_the_call_begins) {
  World world(3);
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && is_data(frame) && chunk_in(frame).chunk == 3;
  }};
  world.set_script(once(lose));
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    world.call(rank, broadcast_of(1, 320), rank == 2 ? 3 * ms : 0);
  }
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(world[2].statistics().overtaken, 1U);
}

TEST(both_copies_of_a_chunk_sent_again, may_be_lost_too) {
  World world(4);
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && is_data(frame) && chunk_in(frame).chunk == 3;
  }};
  lose.limit = 7;
  world.set_script(once(lose));
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(30 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(lose.lost, 7);
}

TEST(a_lost_arm, is_asked_again_by_the_root_s_timer) {
  World world(4);
  LoseOnce lose{[](std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame) {
    return from == 0 && to == 2 && !is_data(frame);
  }};
  world.set_script(once(lose));
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_GE(world[0].statistics().retried, 1U);
}

TEST(a_lost_acknowledgement, is_asked_again_by_the_root_s_timer) {
  World world(4, [](Parameters& p) { p.group.armed = false; }); // each reaches the root by itself
  LoseOnce lose{[](std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame) {
    return from == 2 && to == 0 && !is_data(frame);
  }};
  world.set_script(once(lose));
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(lose.lost, 1);
  EXPECT_EQ(world[0].statistics().retried, 1U);
}

TEST(a_lost_result, is_known_from_data_of_a_later_window) {
  World world(4);
  LoseOnce lose{[](std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame) {
    return from != 1 && to == 2 && !is_data(frame) && word_in(frame).count > 0;
  }};
  world.set_script(once(lose));
  world.call_everywhere(broadcast_of(1, 3000));
  ASSERT_TRUE(world.run(5 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(lose.lost, 1);
  EXPECT_EQ(world[2].statistics().by_data, 1U);
}

TEST(a_lost_result, is_requested_by_a_leaf_that_has_nothing_else_to_do) {
  World world(4);
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && !is_data(frame) && word_in(frame).count > 0;
  }};
  world.set_script(once(lose));
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(5 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_GE(world[2].statistics().requests_sent, 1U);
  EXPECT_EQ(world[0].statistics().replayed, 1U);
}

TEST(a_lost_result, of_the_root_is_sent_again_by_the_switch_that_keeps_it) {
  World world(4, [](Parameters& p) { p.group.in_switch = true; });
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 0 && !is_data(frame) && word_in(frame).arm;
  }};
  world.set_script(once(lose));
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(5 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(lose.lost, 1);
}

TEST(a_result, that_no_switch_keeps_any_more_is_made_again) {
  World world(4, [](Parameters& p) { p.group.in_switch = true; });
  LoseOnce lose{[&](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    if (to != 0 || is_data(frame) || !word_in(frame).arm) {
      return false;
    }
    world.reducer().forget(); // the switch restarts, and its result was lost on the root's link
    return true;
  }};
  world.set_script(once(lose));
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(5 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_EQ(lose.lost, 1);
  EXPECT_FALSE(world[0].failure());
}

TEST(a_retry_of_the_root, restarts_no_gap) {
  // The last chunk is lost, and gaps are longer than the root's timer: it asks again and again.
  World world(4, [](Parameters& p) {
    p.gap_ns = 200 * ms;
    p.group.retry_ns = 10 * ms;
  });
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && is_data(frame) && chunk_in(frame).chunk == 7;
  }};
  world.set_script(once(lose));
  const TimeNs begun = world.now();
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(10 * second));
  EXPECT_TRUE(world.all_right());
  EXPECT_GT(world[0].statistics().retried, 2U);
  EXPECT_LT(elapsed_ns(world.now(), begun), 700 * ms);
}

TEST(the_smoothed_time_of_a_window, leaves_out_windows_with_losses) {
  World world(4);
  world.call_everywhere(broadcast_of(1, 3200));
  ASSERT_TRUE(world.run(second));
  const std::uint64_t before = world[0].window_ns();
  ASSERT_GT(before, 0U);
  LoseOnce lose{[](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && is_data(frame) && chunk_in(frame).chunk == 7;
  }};
  world.set_script(once(lose));
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(second));
  EXPECT_EQ(world[0].window_ns(), before);
}

TEST(a_switch, that_restarts_in_the_middle_costs_time_and_no_byte) {
  for (const bool in_switch : {false, true}) {
    for (std::uint64_t at = 20; at < 400; at += 20) {
      World world(5, [&](Parameters& p) { p.group.in_switch = in_switch; });
      world.call_everywhere(allgather_of({700, 0, 300, 1000, 5}));
      world.pass(at * us);
      world.reducer().forget();
      ASSERT_TRUE(world.run(20 * second)) << at;
      ASSERT_TRUE(world.all_right()) << at;
    }
  }
}

TEST(a_group, that_moves_in_the_middle_continues_on_its_new_tree) {
  for (std::uint64_t at = 20; at < 400; at += 20) {
    World world(5, [&](Parameters& p) { p.group.in_switch = at % 40 == 0; });
    world.call_everywhere(allgather_of({700, 0, 300, 1000, 5}));
    world.pass(at * us);
    collective::GroupParameters to = world[0].parameters().group;
    to.tree = TreeNumber{0x111};
    to.cookie = Cookie{0xC0FFEE};
    world.move(to);
    ASSERT_TRUE(world.run(20 * second)) << at;
    ASSERT_TRUE(world.all_right()) << at;
  }
}

} // namespace
} // namespace tributary::reliable_multicast::test
