// The driver between ports and a traffic: nothing is lost in between, and its counts are right.
#include "pktgen/run/driver.hpp"

#include "lib/link/memory_port.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace tributary::pktgen::run {
namespace {

/// Sends numbered frames out of the first port, and counts frames that arrive at the second.
class Counting final : public traffic::Traffic {
public:
  std::uint64_t to_send = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t out_of_order = 0;
  TimeNs last_now;
  bool ran_backwards = false;

  void start(TimeNs) override {}
  void begin_measuring(TimeNs) override {}
  void stop(TimeNs) override {}
  traffic::Reception receive(scenario::QueuePairIndex port, const FrameView& frame,
                             TimeNs) override {
    if (port != 1) {
      return false;
    }
    std::uint64_t number = 0;
    std::memcpy(&number, frame.data, sizeof number);
    out_of_order += number != received ? 1 : 0;
    ++received;
    return number % 10 != 9; // as if every tenth were not its own
  }
  void generate(traffic::Ports ports, TimeNs now) override {
    ran_backwards = ran_backwards || now < last_now;
    last_now = now;
    for (; sent < to_send; ++sent) {
      std::byte* room = ports[0]->room();
      if (room == nullptr) {
        return;
      }
      std::memcpy(room, &sent, sizeof sent);
      ports[0]->push(64);
    }
  }
  [[nodiscard]] TimeNs next_due() const override { return sent < to_send ? TimeNs{0} : never; }
  [[nodiscard]] bool drained(TimeNs) const override { return received == to_send; }
  [[nodiscard]] measure::Tally tally(TimeNs) const override { return {}; }
  [[nodiscard]] std::string waiting_for(TimeNs) const override { return {}; }
};

TEST(Driver, CarriesEverythingBothWaysThroughPortsThatAreFullNowAndThen) {
  const Clock clock;
  Counting traffic;
  traffic.to_send = 10'000;
  auto [first, second] = link::MemoryPort::joined(2048, {});
  Driver driver(traffic, {first.get(), second.get()}, clock, true);
  driver.run_until([&](TimeNs now) { return traffic.drained(now); });
  EXPECT_EQ(traffic.received, 10'000U);
  EXPECT_EQ(traffic.out_of_order, 0U);
  EXPECT_FALSE(traffic.ran_backwards);
  EXPECT_EQ(driver.counts().received, 10'000U);
  EXPECT_EQ(driver.counts().strangers, 1'000U);
  EXPECT_GT(driver.counts().busy_cycles, 0U);
  EXPECT_LE(driver.counts().busy_cycles, driver.counts().cycles);
}

TEST(Driver, SleepsWithNothingToDoUnlessItIsBusy) {
  const Clock clock;
  for (const bool busy : {true, false}) {
    Counting traffic;
    auto [first, second] = link::MemoryPort::joined(2048, {});
    Driver driver(traffic, {first.get(), second.get()}, clock, busy);
    const TimeNs end = clock.now() + 20'000'000;
    driver.run_until([&](TimeNs now) { return now >= end; });
    EXPECT_EQ(driver.counts().busy_cycles, 0U);
    if (!busy) {
      // Fifty microseconds at a time, and some to spin before the first.
      EXPECT_LT(driver.counts().iterations, 200'000U);
    }
  }
}

} // namespace
} // namespace tributary::pktgen::run
