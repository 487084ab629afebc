// When a link between two switches is down, for which of them, and when it is good again.

#include "tests/unit/dataplane/liveness/wire_between.hpp"

#include <gtest/gtest.h>

namespace tributary::liveness::test {
namespace {

TEST(Link, to_a_host_is_not_watched_and_sends_nothing) {
  WireBetween wire;
  wire.a.links.carrier_changed(port, true, wire.now);
  wire.a.links.hello(port, host_hello(), wire.now);
  wire.run(10 * ns_per_second);
  EXPECT_EQ(wire.state(wire.a), State::unwatched);
  EXPECT_EQ(wire.a.sent, 0U);
  EXPECT_EQ(wire.a.links.next_deadline(), never);
}

TEST(Link, to_a_switch_that_sends_no_link_hellos_is_not_watched) {
  WireBetween wire;
  wire.a.links.carrier_changed(port, true, wire.now);
  wire.a.links.hello(port, hello_of(wire.b.guid, false), wire.now);
  wire.run(10 * ns_per_second);
  EXPECT_EQ(wire.state(wire.a), State::unwatched);
  EXPECT_EQ(wire.a.sent, 0U);
}

TEST(Link, is_up_at_both_ends_after_a_round_trip_and_was_usable_all_the_time) {
  WireBetween wire;
  wire.connect();
  wire.run(15 * ms);
  EXPECT_EQ(wire.state(wire.a), State::up);
  EXPECT_EQ(wire.state(wire.b), State::up);
  wire.run(60 * ns_per_second);
  EXPECT_TRUE(wire.a.changes.empty());
  EXPECT_TRUE(wire.b.changes.empty());
  EXPECT_EQ(wire.a.links.status(port).hellos_missed, 0U);
}

TEST(Link, sends_a_hello_each_three_quarters_to_one_interval) {
  WireBetween wire;
  wire.connect();
  wire.run(10 * ns_per_second);
  EXPECT_GE(wire.a.sent, 990U);
  EXPECT_LE(wire.a.sent, 1340U);
  EXPECT_LE(wire.b.links.status(port).longest_gap_ns, 11 * ms);
}

TEST(Link, that_goes_silent_is_down_within_four_intervals_and_says_for_how_long) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.a.running = false;
  const TimeNs cut = wire.now;
  wire.run(100 * ms);
  ASSERT_EQ(wire.b.changes.size(), 1U);
  EXPECT_FALSE(wire.b.changes[0].usable);
  EXPECT_EQ(wire.b.changes[0].reason, Reason::silent);
  EXPECT_LE(elapsed_ns(wire.b.at[0], cut), 32 * ms);
  EXPECT_GE(wire.b.changes[0].after_ns, 30 * ms);
  EXPECT_LE(wire.b.changes[0].after_ns, 32 * ms);
  EXPECT_EQ(wire.b.links.status(port).last_silence_ns, wire.b.changes[0].after_ns);
  EXPECT_EQ(wire.b.links.status(port).times_down, 1U);
}

TEST(Link, that_works_in_one_direction_is_down_at_both_ends) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.a.cut = true;
  const TimeNs cut = wire.now;
  wire.run(100 * ms);
  ASSERT_EQ(wire.a.changes.size(), 1U);
  ASSERT_EQ(wire.b.changes.size(), 1U);
  EXPECT_EQ(wire.b.changes[0].reason, Reason::silent);
  EXPECT_EQ(wire.a.changes[0].reason, Reason::one_way);
  EXPECT_LE(elapsed_ns(wire.a.at[0], cut), 34 * ms);
  wire.run(60 * ns_per_second);
  EXPECT_TRUE(wire.failed(wire.a));
  EXPECT_TRUE(wire.failed(wire.b));
}

TEST(Link, that_never_worked_in_one_direction_is_down_where_the_neighbour_is_heard) {
  WireBetween wire;
  wire.a.cut = true;
  wire.a.links.carrier_changed(port, true, wire.now);
  wire.b.links.carrier_changed(port, true, wire.now);
  wire.a.links.hello(port, hello_of(wire.b.guid), wire.now);
  EXPECT_FALSE(wire.failed(wire.a));
  wire.run(1100 * ms);
  EXPECT_TRUE(wire.failed(wire.a));
  EXPECT_EQ(wire.a.links.status(port).last_reason, Reason::one_way);
  EXPECT_EQ(wire.state(wire.b), State::unwatched); // it does not know a neighbour
}

TEST(Link, that_comes_back_is_used_again_after_as_many_good_hellos_as_asked_for) {
  WireBetween wire(1, {.interval_ns = 10 * ms, .misses = 3, .good = 20});
  wire.connect();
  wire.run(ns_per_second);
  wire.a.cut = true;
  wire.run(200 * ms);
  wire.a.cut = false;
  const TimeNs back = wire.now;
  wire.run(140 * ms); // 14 to 19 hellos
  EXPECT_TRUE(wire.failed(wire.b));
  wire.run(80 * ms);
  EXPECT_FALSE(wire.failed(wire.a));
  EXPECT_FALSE(wire.failed(wire.b));
  ASSERT_EQ(wire.b.changes.size(), 2U);
  EXPECT_TRUE(wire.b.changes[1].usable);
  EXPECT_GE(elapsed_ns(wire.b.at[1], back), 140 * ms);
  EXPECT_NEAR(static_cast<double>(wire.b.changes[1].after_ns),
              static_cast<double>(elapsed_ns(wire.b.at[1], wire.b.at[0])), 1.0 * ms);
}

TEST(Link, that_loses_every_other_hello_stays_up_and_counts_them) {
  WireBetween wire(7);
  wire.connect();
  wire.run(ns_per_second);
  wire.a.loss = 0.2;
  wire.run(2 * ns_per_second);
  EXPECT_GT(wire.b.links.status(port).hellos_missed, 20U);
  EXPECT_LT(wire.b.links.status(port).hellos_missed, 80U);
}

TEST(Link, that_overflows_with_other_frames_is_kept_ten_times_as_long) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.a.cut = true;
  wire.a.busy_wire = true;
  wire.run(280 * ms);
  EXPECT_FALSE(wire.failed(wire.b));
  wire.run(50 * ms);
  EXPECT_TRUE(wire.failed(wire.b));
}

TEST(Link, is_not_down_because_its_own_switch_did_not_look_for_a_while) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.b.running = false; // and receives nothing meanwhile
  wire.run(25 * ms);
  wire.now = wire.now + 60 * ms; // neither does the other
  wire.b.running = true;
  wire.run(ns_per_second);
  EXPECT_TRUE(wire.a.changes.empty());
  EXPECT_TRUE(wire.b.changes.empty());
}

TEST(Link, of_a_neighbour_that_was_late_bears_the_next_delay_and_forgets_it_after_a_while) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  const auto a_waits = [&](std::uint64_t duration_ns) {
    wire.a.running = false;
    wire.run(duration_ns);
    wire.a.running = true;
    wire.run(ns_per_second);
  };
  a_waits(60 * ms);
  ASSERT_EQ(wire.b.links.status(port).times_down, 1U); // neither end can know
  EXPECT_FALSE(wire.failed(wire.b));
  for (int i = 0; i < 10; ++i) {
    a_waits(60 * ms);
  }
  EXPECT_EQ(wire.b.links.status(port).times_down, 1U);
  wire.run(40 * ns_per_second);
  wire.a.running = false;
  const TimeNs cut = wire.now;
  wire.run(100 * ms);
  EXPECT_EQ(wire.b.links.status(port).times_down, 2U);
  EXPECT_LE(elapsed_ns(wire.b.at.back(), cut), 32 * ms);
}

TEST(Link, bears_as_much_from_its_neighbour_as_its_own_switch_was_late) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.b.running = false;
  wire.run(25 * ms); // not enough for either to be silent
  wire.b.running = true;
  wire.run(ns_per_second);
  wire.a.running = false;
  wire.run(60 * ms); // twice what is tolerated otherwise
  wire.a.running = true;
  wire.run(ns_per_second);
  EXPECT_TRUE(wire.a.changes.empty());
  EXPECT_TRUE(wire.b.changes.empty());
}

TEST(Link, bears_no_delay_for_longer_than_the_idle_interval_asks) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.a.running = false;
  wire.run(600 * ns_per_second);
  wire.a.running = true;
  wire.run(ns_per_second);
  wire.a.running = false;
  const TimeNs cut = wire.now;
  wire.run(10 * ns_per_second);
  EXPECT_TRUE(wire.failed(wire.b));
  EXPECT_LE(elapsed_ns(wire.b.at.back(), cut), 3100 * ms);
}

TEST(Link, of_a_neighbour_that_leaves_is_down_at_once) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire::Hello leaving = hello_of(wire.a.guid);
  leaving.interval_ms = 0;
  wire.a.running = false;
  wire.b.links.hello(port, leaving, wire.now);
  EXPECT_TRUE(wire.failed(wire.b));
  EXPECT_EQ(wire.b.links.status(port).last_reason, Reason::left);
}

TEST(Link, to_a_silent_neighbour_sends_at_the_idle_interval_until_it_is_heard) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.b.running = false;
  wire.run(2 * ns_per_second);
  const std::uint64_t before = wire.a.sent;
  wire.run(20 * ns_per_second);
  EXPECT_GE(wire.a.sent - before, 19U);
  EXPECT_LE(wire.a.sent - before, 28U);
  wire.b.running = true;
  wire.run(2 * ns_per_second);
  EXPECT_FALSE(wire.failed(wire.a));
  EXPECT_FALSE(wire.failed(wire.b));
}

TEST(Link, whose_carrier_came_back_needs_good_hellos_first) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.b.links.carrier_changed(port, false, wire.now);
  EXPECT_TRUE(wire.failed(wire.b));
  EXPECT_EQ(wire.b.links.status(port).last_reason, Reason::carrier);
  wire.a.running = false;
  wire.run(ns_per_second);
  wire.b.links.carrier_changed(port, true, wire.now);
  wire.run(ns_per_second);
  EXPECT_TRUE(wire.failed(wire.b));
  wire.a.running = true;
  wire.run(100 * ms);
  EXPECT_FALSE(wire.failed(wire.b));
}

TEST(Link, whose_carrier_came_back_to_a_host_is_usable_with_its_first_hello) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.a.running = false;
  wire.b.links.carrier_changed(port, false, wire.now);
  wire.b.links.carrier_changed(port, true, wire.now);
  wire.b.links.hello(port, host_hello(), wire.now);
  EXPECT_FALSE(wire.failed(wire.b));
  EXPECT_EQ(wire.state(wire.b), State::unwatched);
}

TEST(Link, whose_carrier_came_back_to_a_silent_end_is_usable_after_a_while) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.a.running = false;
  wire.b.links.carrier_changed(port, false, wire.now);
  wire.b.links.carrier_changed(port, true, wire.now);
  wire.run(3 * ns_per_second);
  EXPECT_TRUE(wire.failed(wire.b));
  wire.run(ns_per_second);
  EXPECT_FALSE(wire.failed(wire.b));
}

TEST(Link, to_another_switch_than_before_has_to_be_good_first) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.a.running = false;
  const wire::LinkHello other{.sender = {0xC, port},
                              .sequence = 5,
                              .interval_ms = 10,
                              .uses_link = true,
                              .heard = wire::LinkEnd{wire.b.guid, port}};
  wire.b.links.link_hello(port, other, wire.now);
  EXPECT_TRUE(wire.failed(wire.b));
  EXPECT_EQ(wire.b.links.status(port).last_reason, Reason::other_neighbour);
}

TEST(Link, to_a_port_where_a_guard_says_that_a_host_is_there_is_not_watched_whatever_it_sends) {
  WireBetween wire;
  wire.b.links.hosts_are_at(only(port), wire.now);
  wire.connect();
  wire.run(10 * ns_per_second);
  EXPECT_EQ(wire.state(wire.b), State::unwatched);
  EXPECT_EQ(wire.b.sent, 0U);
  EXPECT_TRUE(wire.b.changes.empty());
}

TEST(Link, that_was_down_is_usable_once_a_guard_says_that_a_host_is_there) {
  WireBetween wire;
  wire.connect();
  wire.run(ns_per_second);
  wire.a.running = false;
  wire.run(ns_per_second);
  ASSERT_TRUE(wire.failed(wire.b));
  wire.b.links.hosts_are_at(only(port), wire.now);
  EXPECT_FALSE(wire.failed(wire.b));
  wire.run(ms);
  ASSERT_EQ(wire.b.changes.size(), 2U);
  EXPECT_TRUE(wire.b.changes[1].usable);
  // And is watched again when the guard is removed and a switch is connected.
  wire.a.running = true;
  wire.b.links.hosts_are_at({}, wire.now);
  wire.connect();
  wire.run(ns_per_second);
  EXPECT_EQ(wire.state(wire.b), State::up);
}

TEST(Link, that_ends_where_it_begins_is_not_watched) {
  WireBetween wire;
  wire.a.links.carrier_changed(port, true, wire.now);
  wire.a.links.hello(port, hello_of(wire.a.guid), wire.now);
  wire.a.links.link_hello(port, {.sender = {wire.a.guid, port}, .heard = {}}, wire.now);
  EXPECT_EQ(wire.state(wire.a), State::unwatched);
}

TEST(Link, of_a_switch_that_sends_no_link_hellos_itself_is_not_watched) {
  WireBetween wire(1, Settings{});
  wire.connect();
  wire.a.links.link_hello(port, {.sender = {wire.b.guid, port}, .heard = {}}, wire.now);
  EXPECT_EQ(wire.state(wire.a), State::unwatched);
}

// For any history: once the wire is whole for long enough, both ends use it; while a direction is
// cut for long enough, neither does.
TEST(Link, agrees_with_the_wire_at_both_ends_whatever_happened_before) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    WireBetween wire(seed);
    wire.connect();
    wire.run(ns_per_second);
    for (int turn = 0; turn < 20; ++turn) {
      for (WireBetween::End* end : {&wire.a, &wire.b}) {
        end->cut = random.chance(0.3);
        end->loss = random.chance(0.3) ? 0.5 : 0;
        end->running = !random.chance(0.1);
        if (random.chance(0.1)) {
          end->links.carrier_changed(port, false, wire.now);
          end->links.carrier_changed(port, true, wire.now);
        }
      }
      wire.run(random.between(1, 300) * ms);
    }
    wire.a.running = wire.b.running = true;
    wire.a.loss = wire.b.loss = 0;
    wire.a.cut = wire.b.cut = false;
    wire.run(1500 * ms); // the idle interval, and the good hellos
    ASSERT_FALSE(wire.failed(wire.a));
    ASSERT_FALSE(wire.failed(wire.b));
    ASSERT_EQ(wire.state(wire.a), State::up);
    ASSERT_EQ(wire.state(wire.b), State::up);
    wire.b.cut = true;
    wire.run(3200 * ms); // an end that did not run asked for up to three idle intervals
    ASSERT_TRUE(wire.failed(wire.a));
    ASSERT_TRUE(wire.failed(wire.b));
  }
}

} // namespace
} // namespace tributary::liveness::test
