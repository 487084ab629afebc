// Turns that take too long, and their log messages.
#include "controlplane/turns/stall_detector.hpp"

#include "fake_world.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tributary::manager {
namespace {

constexpr std::uint64_t ms = 1'000'000;

class SlowWorld final : public turns::Environment {
public:
  TimeNs now() override { return time; }
  std::uint64_t processor_ns() override { return processor; }
  std::string wall_time() override { return {}; }
  void request_reconcile() override {}
  void store(std::function<std::vector<records::Change>()>) override {}
  void work(std::unique_ptr<turns::BackgroundWork>) override {}
  void send(transaction::SessionNumber, const control::ManagerMessage&) override {}
  void close(transaction::SessionNumber, std::string_view) override {}
  void stalled(const std::string& what) override { reported.push_back(what); }

  void pass(std::uint64_t ns) {
    time = time + ns;
    processor += ns;
  }
  /// Other processes have the processor.
  void wait(std::uint64_t ns) { time = time + ns; }
  TimeNs time{1};
  std::uint64_t processor = 5;
  std::vector<std::string> reported;
};

class StallDetectorTest : public ::testing::Test {
protected:
  void turn(std::uint64_t ns) {
    const turns::Section section(stalls, "turn");
    world.pass(ns);
  }
  SlowWorld world;
  turns::StallDetector stalls{world};
};

TEST_F(StallDetectorTest, what_is_quick_is_counted_and_not_reported) {
  turn(3 * ms);
  world.pass(1000 * ms); // nothing ran
  turn(10 * ms);
  EXPECT_EQ(stalls.turns(), 2U);
  EXPECT_EQ(stalls.stalls(), 0U);
  EXPECT_EQ(stalls.longest_ns(), 10 * ms);
  EXPECT_TRUE(world.reported.empty());
}

TEST_F(StallDetectorTest, a_stall_is_reported_with_the_parts_that_took_the_time) {
  {
    const turns::Section section(stalls, "the rest");
    world.pass(1 * ms);
    for (int i = 0; i < 2; ++i) {
      const turns::Section planning(stalls, "planning");
      world.pass(7 * ms);
      const turns::Section storing(stalls, "storing");
      world.pass(3 * ms);
    }
  }
  EXPECT_EQ(stalls.turns(), 1U);
  EXPECT_EQ(stalls.stalls(), 1U);
  EXPECT_EQ(stalls.longest_ns(), 21 * ms);
  EXPECT_EQ(world.reported,
            (std::vector<std::string>{"a turn of the manager took 21.0 ms, 21.0 ms of "
                                      "processor: planning 14.0 ms, storing 6.0 ms"}));
}

TEST_F(StallDetectorTest, waiting_for_a_processor_is_distinguished_from_work) {
  turn(2 * ms);
  {
    const turns::Section section(stalls, "turn");
    world.pass(4 * ms);
    world.wait(90 * ms);
  }
  EXPECT_EQ(stalls.longest_ns(), 94 * ms);
  EXPECT_EQ(stalls.longest_processor_ns(), 4 * ms);
  EXPECT_EQ(world.reported,
            (std::vector<std::string>{
                "a turn of the manager took 94.0 ms, 4.0 ms of processor: turn 94.0 ms"}));
}

TEST_F(StallDetectorTest, many_stalls_are_one_report) {
  turn(11 * ms);
  turn(40 * ms);
  turn(20 * ms);
  EXPECT_EQ(world.reported.size(), 1U);
  world.pass(turns::StallDetector::report_pause_ns);
  turn(1 * ms);
  ASSERT_EQ(world.reported.size(), 2U);
  EXPECT_EQ(world.reported[1],
            "2 turns of the manager took more than 10 ms, the longest 40.0 ms, 40.0 "
            "ms of processor: turn 40.0 ms");
  world.pass(turns::StallDetector::report_pause_ns);
  turn(1 * ms);
  EXPECT_EQ(world.reported.size(), 2U);
  EXPECT_EQ(stalls.stalls(), 3U);
}

TEST(StallMetrics, are_among_the_manager_s) {
  World world;
  const std::string text = world.metrics();
  for (const char* const name : {"tributary_turns_total ", "tributary_turns_stalled_total 0",
                                 "tributary_turn_longest_seconds "}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
}

} // namespace
} // namespace tributary::manager
