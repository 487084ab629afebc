// When a station sends, and how long it stores its neighbours.

#include "dataplane/lldp/station.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::lldp::test {
namespace {

constexpr PortNumber first{0};
constexpr PortNumber second{1};
constexpr std::uint64_t s = ns_per_second;

std::vector<std::byte> from(const std::string& chassis, std::uint16_t ttl_seconds = 120) {
  return encode({.chassis = chassis,
                 .port = "eth0",
                 .ttl_seconds = ttl_seconds,
                 .port_description = {},
                 .system_name = chassis,
                 .system_description = {},
                 .capabilities = capability::station},
                {2, 0, 0, 0, 0, 1});
}

class StationTest : public ::testing::Test {
protected:
  /// Lets time pass; returns when frames left the port, in seconds since the beginning.
  std::vector<std::uint64_t> run(std::uint64_t seconds, PortNumber port = first) {
    std::vector<std::uint64_t> at;
    for (const TimeNs end = now + seconds * s; now < end; now = now + s) {
      station.poll(now);
      for (const OutgoingFrame& frame : station.take_frames()) {
        if (frame.port == port) {
          at.push_back(elapsed_ns(now, begun) / s);
        }
        last = frame.bytes;
      }
      EXPECT_GT(station.next_deadline(), now);
    }
    return at;
  }

  TimeNs begun{1'000'000'000};
  TimeNs now = begun;
  std::vector<std::byte> last;
  Station station{{.chassis = "c0", .system_name = "leaf0", .system_description = "d"},
                  {{.name = "p0", .description = "first", .source = {}},
                   {.name = "p1", .description = "second", .source = {}, .speaks = false}}};
};

TEST_F(StationTest, speaks_when_a_port_comes_up_and_every_thirty_seconds) {
  EXPECT_TRUE(run(100).empty()) << "all ports are down";
  station.port_changed(first, true, now);
  EXPECT_EQ(run(100), (std::vector<std::uint64_t>{100, 130, 160, 190}));
  Announcement said;
  ASSERT_EQ(decode(last, said), Error::none);
  EXPECT_EQ(said.chassis, "c0");
  EXPECT_EQ(said.port, "p0");
  EXPECT_EQ(said.port_description, "first");
  EXPECT_EQ(said.system_name, "leaf0");
  EXPECT_EQ(said.ttl_seconds, 121U) << "four intervals and a second";
  EXPECT_EQ(said.capabilities, capability::bridge);
  EXPECT_EQ(station.counters(first).sent, 4U);
  station.port_changed(first, false, now);
  EXPECT_TRUE(run(100).empty());
}

TEST_F(StationTest, speaks_four_times_in_a_row_to_a_new_neighbour) {
  station.port_changed(first, true, now);
  run(10);
  station.received(first, from("a"), now);
  EXPECT_EQ(run(60), (std::vector<std::uint64_t>{11, 12, 13, 14, 44}));
  station.received(first, from("a"), now);
  EXPECT_EQ(run(10), (std::vector<std::uint64_t>{74})) << "one that is known";
}

TEST_F(StationTest, sends_once_a_second_at_most_whichever_neighbours_change) {
  station.port_changed(first, true, now);
  std::size_t sent = 0;
  for (int i = 0; i < 300; ++i) {
    station.received(first, from("a", 120), now);
    station.received(first, from("a", 0), now);
    station.poll(now);
    sent += station.take_frames().size();
    now = now + s / 10;
  }
  EXPECT_LE(sent, 31U);
}

TEST_F(StationTest, remembers_a_neighbour_for_as_long_as_it_said) {
  station.port_changed(first, true, now);
  station.received(first, from("a", 40), now);
  station.received(first, from("b", 80), now);
  run(40);
  ASSERT_EQ(station.neighbours(first).size(), 2U);
  run(1);
  ASSERT_EQ(station.neighbours(first).size(), 1U);
  EXPECT_EQ(station.neighbours(first)[0].announcement.chassis, "b");
  EXPECT_EQ(station.counters(first).aged_out, 1U);
  station.received(first, from("b", 80), now);
  run(80);
  ASSERT_EQ(station.neighbours(first).size(), 1U);
  EXPECT_EQ(station.neighbours(first)[0].since, begun);
  EXPECT_TRUE(station.neighbours(second).empty());
}

TEST_F(StationTest, forgets_who_leaves_and_who_is_behind_a_port_that_goes_down) {
  station.port_changed(first, true, now);
  station.received(first, from("a"), now);
  station.received(first, from("a", 0), now);
  EXPECT_TRUE(station.neighbours(first).empty());
  station.received(first, from("a"), now);
  station.port_changed(first, false, now);
  EXPECT_TRUE(station.neighbours(first).empty());
  station.received(first, from("a"), now);
  EXPECT_TRUE(station.neighbours(first).empty()) << "the port is down";
  EXPECT_EQ(station.counters(first).aged_out, 0U);
}

TEST_F(StationTest, refuses_more_neighbours_than_a_port_may_have_until_one_goes) {
  station.port_changed(first, true, now);
  for (int i = 0; i < 12; ++i) {
    station.received(first, from("n" + std::to_string(i)), now);
  }
  EXPECT_EQ(station.neighbours(first).size(), Settings{}.neighbours_per_port);
  EXPECT_EQ(station.counters(first).refused, 4U);
  station.received(first, from("n3", 0), now);
  station.received(first, from("n11"), now);
  EXPECT_EQ(station.neighbours(first).back().announcement.chassis, "n11");
}

TEST_F(StationTest, counts_what_it_cannot_read_and_says_why) {
  station.port_changed(first, true, now);
  station.received(first, std::vector<std::byte>(60), now);
  auto cut = from("a");
  cut.resize(20);
  station.received(first, cut, now);
  EXPECT_EQ(station.counters(first).received, 2U);
  EXPECT_EQ(station.counters(first).discarded, 2U);
  EXPECT_EQ(station.counters(first).last_error, Error::truncated);
  EXPECT_TRUE(station.neighbours(first).empty());
}

TEST_F(StationTest, hears_and_says_nothing_where_there_is_no_other_end) {
  station.port_changed(second, true, now);
  station.received(second, from("a"), now);
  EXPECT_TRUE(run(100, second).empty());
  EXPECT_EQ(station.neighbours(second).size(), 1U);
  EXPECT_TRUE(station.leaving_frames().empty());
}

TEST_F(StationTest, that_leaves_says_so_on_the_ports_that_are_up) {
  station.port_changed(first, true, now);
  const auto frames = station.leaving_frames();
  ASSERT_EQ(frames.size(), 1U);
  Announcement said;
  ASSERT_EQ(decode(frames[0].bytes, said), Error::none);
  EXPECT_EQ(frames[0].port, first);
  EXPECT_EQ(said.chassis, "c0");
  EXPECT_EQ(said.ttl_seconds, 0U);
}

} // namespace
} // namespace tributary::lldp::test
