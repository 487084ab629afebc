// What a port does in a second.
#include "controlplane/southbound/protocol/port_rates.hpp"

#include <gtest/gtest.h>

namespace tributary::southbound::protocol {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

control::PortStatistics counted(std::uint64_t frames, std::uint64_t bytes, std::uint64_t full,
                                std::uint64_t paused_ns) {
  control::PortStatistics port;
  port.set_sent(frames);
  port.set_sent_bytes(bytes);
  port.set_received(2 * frames);
  port.set_received_bytes(2 * bytes);
  (*port.mutable_drops())["queue_full"] = full;
  (*port.mutable_drops())["no_route"] = 1;
  port.set_paused_ns(paused_ns);
  return port;
}

TEST(port_rates, are_the_differences_of_two_reports_a_second) {
  const PortRates rates =
      rates_between(counted(10, 1'000, 4, 0), counted(30, 5'000, 10, second), 2 * second);
  EXPECT_DOUBLE_EQ(rates.sent_frames, 10);
  EXPECT_DOUBLE_EQ(rates.sent_bytes, 2'000);
  EXPECT_DOUBLE_EQ(rates.received_frames, 20);
  EXPECT_DOUBLE_EQ(rates.received_bytes, 4'000);
  EXPECT_DOUBLE_EQ(rates.drops, 3);
  EXPECT_DOUBLE_EQ(rates.paused, 0.5);
}

TEST(port_rates, of_classes_paused_side_by_side_are_the_whole_time_at_most) {
  const PortRates rates = rates_between(counted(0, 0, 0, 0), counted(0, 0, 0, 3 * second), second);
  EXPECT_DOUBLE_EQ(rates.paused, 1);
}

TEST(port_rates, are_none_where_a_count_fell_or_no_time_passed) {
  EXPECT_EQ(rates_between(counted(10, 1'000, 0, 0), counted(20, 900, 0, 0), second).sent_frames, 0);
  EXPECT_EQ(rates_between(counted(10, 1'000, 0, 0), counted(20, 2'000, 0, 0), 0).sent_frames, 0);
}

TEST(port_rates, know_drops_for_every_reason) {
  EXPECT_EQ(dropped_by(counted(0, 0, 6, 0)).drops, 7U);
}

TEST(port_rates, do_not_take_repeats_of_the_protocol_for_lost_frames) {
  control::PortStatistics before = counted(0, 0, 0, 0);
  control::PortStatistics after = counted(0, 0, 6, 0);
  (*before.mutable_drops())["stale_sequence"] = 10;
  (*after.mutable_drops())["stale_sequence"] = 20;
  (*after.mutable_drops())["counted_twice"] = 2;
  EXPECT_EQ(dropped_by(after).drops, 7U);
  EXPECT_EQ(dropped_by(after).repeats, 22U);
  EXPECT_DOUBLE_EQ(rates_between(before, after, second).drops, 6);
  EXPECT_DOUBLE_EQ(rates_between(before, after, second).repeats, 12);
}

} // namespace
} // namespace tributary::southbound::protocol
