// The four timers (wire format page, 5.5), and the queues behind them.

#include "dataplane/core/deadline_queues.hpp"
#include "tests/unit/dataplane/core/test_switch.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <map>

namespace tributary::core::test {
namespace {

using tributary::test::Random;
using tributary::test::seed;

TEST(EngineTimers, UnitsAreThoseOfTheHardware) {
  static_assert(EngineTimers::units_from_us(32'000) == 26'563);
  static_assert(EngineTimers::units_from_us(20'000'000) == 16'601'563);
  static_assert(EngineTimers::units_from_us(0) == 0);
  static_assert(EngineTimers::units_from_us(1) == 1);
  static_assert(EngineTimers::units_from_us(2) == 2);
  EXPECT_EQ(EngineTimers::ns_from_units(0), 0U);
  EXPECT_EQ(EngineTimers::ns_from_units(1), 1204U);
  EXPECT_EQ(EngineTimers::ns_from_units(850), 1'024'000U);
  EXPECT_EQ(EngineTimers::ns_from_units(EngineTimers::max_units), 20'211'609'600U);
}

TEST(EngineTimers, IndexIsTheNumberOfLimitsAtOrBelowTheWaitCount) {
  const EngineTimers timers;
  const std::map<ContributionCount, int> expected = {
      {1, 0},   {15, 0},   {16, 1},   {17, 1},   {255, 1},
      {256, 2}, {4095, 2}, {4096, 3}, {4097, 3}, {max_contributions, 3}};
  for (const auto& [count, index] : expected) {
    EXPECT_EQ(timers.choose(count), index) << count;
  }
}

TEST(Timers, EachWaitCountRunsItsOwn) {
  SwitchSettings settings;
  settings.timers.limits = {2, 5, 9};
  settings.timers.units = {100, 2000, 30000, 400000};
  TestSwitch s(settings);
  TablesBuilder builder(settings.timers);
  for (std::size_t i = 0; i < port_count; ++i) {
    ASSERT_EQ(builder.add_port({}), "");
  }
  const std::pair<ContributionCount, std::uint32_t> cases[] = {
      {1, 100}, {2, 2000}, {4, 2000}, {5, 30000}, {8, 30000}, {9, 400000}, {1000, 400000}};
  std::uint16_t number = 0;
  for (const auto& expected : cases) {
    ASSERT_EQ(builder.add_tree(TreeNumber{number++}, expected.first, parent, children), "");
  }
  s.adopt(std::move(builder));
  for (std::uint16_t t = 0; t < number; ++t) {
    auto a = arm(7);
    a.tree = TreeNumber{t};
    s.give(parent, a);
  }
  for (const DescriptorView& d : s.descriptors()) {
    const auto units = cases[d.key.tree().value].second;
    EXPECT_EQ(d.deadline.value - s.now.value, std::uint64_t{units} * 1024 * 1000 / 850);
  }
  EXPECT_EQ(s.descriptors().size(), std::size(cases));
}

TEST(Timers, StartWithTheArmAndNotWithTheFirstContribution) {
  TestSwitch s;
  s.give(parent, arm(7));
  const TimeNs deadline = s.descriptors()[0].deadline;
  s.now = TimeNs{deadline.value - 1};
  s.give(child, contribution(7));
  s.expire();
  EXPECT_TRUE(s.emitted.empty());
  s.now = deadline;
  s.expire();
  EXPECT_EQ(s.emitted.size(), 1U);
}

TEST(Timers, ExpiryWithDataEmitsThePartialAndFrees) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  s.pass(30'000'000'000);
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].frame.decoded().word.count, 1U);
  EXPECT_TRUE(s.descriptors().empty());
  EXPECT_EQ(s.engine().partial.read(), 1U);
  EXPECT_EQ(s.of(tree).partial.read(), 1U);
  EXPECT_EQ(s.engine().expired_empty.read(), 0U);
  s.pass(30'000'000'000);
  EXPECT_EQ(s.emitted.size(), 1U);
}

TEST(Timers, ExpiryWithoutDataFreesSilently) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.pass(30'000'000'000);
  EXPECT_TRUE(s.emitted.empty());
  EXPECT_TRUE(s.descriptors().empty());
  EXPECT_EQ(s.engine().expired_empty.read(), 1U);
  EXPECT_EQ(s.of(tree).partial.read(), 0U);
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST(Timers, WithoutABufferTheReductionStaysAndIsTriedAgain) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto empty = arm(7);
  empty.reduction = ReductionId{1};
  s.give(parent, empty);
  s.give(child, contribution(7));
  s.buffers_are_free = false;
  s.pass(30'000'000'000);
  s.expire();
  EXPECT_EQ(s.engine().emission_delayed.read(), 2U);
  EXPECT_EQ(s.engine().partial.read(), 0U);
  EXPECT_EQ(s.engine().expired_empty.read(), 1U) << "needs no buffer";
  ASSERT_EQ(s.descriptors().size(), 1U);
  EXPECT_LE(s.core.next_deadline(), s.now);
  // Meanwhile it still takes contributions.
  expect_absorbed(s.give(child, contribution(7)));
  s.buffers_are_free = true;
  s.expire();
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].frame.decoded().word.count, 2U);
  EXPECT_TRUE(s.descriptors().empty());
}

TEST(Timers, NextDeadlineIsNeverTooLate) {
  TestSwitch s;
  EXPECT_EQ(s.core.next_deadline(), never);
  s.give(parent, arm(7));
  const TimeNs first = s.descriptors()[0].deadline;
  EXPECT_EQ(s.core.next_deadline(), first);
  s.now = s.now + 1000;
  auto second = arm(7);
  second.reduction = ReductionId{1};
  s.give(parent, second);
  EXPECT_EQ(s.core.next_deadline(), first);
  s.give(parent, disarm(7));
  EXPECT_LE(s.core.next_deadline(), first + 1000);
  s.now = first;
  s.expire();
  EXPECT_EQ(s.descriptors().size(), 1U);
  EXPECT_EQ(s.core.next_deadline(), first + 1000);
  s.pass(1000);
  EXPECT_EQ(s.core.next_deadline(), never);
}

TEST(Timers, OnlyWhatIsDueEnds) {
  TestSwitch s;
  for (std::uint8_t id = 0; id < 8; ++id) {
    auto a = arm(7);
    a.reduction = ReductionId{id};
    s.give(parent, a);
    s.now = s.now + 10;
  }
  const std::uint64_t first = s.descriptors()[0].deadline.value;
  for (std::size_t ended = 1; ended <= 8; ++ended) {
    s.now = TimeNs{first + 10 * (ended - 1)};
    s.expire();
    EXPECT_EQ(s.engine().expired_empty.read(), ended);
  }
}

TEST(DeadlineQueues, AgreesWithAMultimapOnRandomOperations) {
  Random random(seed());
  DeadlineQueues queues;
  std::map<std::uint32_t, TimeNs> expected;
  std::uint64_t now = 1000;
  for (int step = 0; step < 20'000; ++step) {
    now += random() % 5;
    const auto index = static_cast<std::uint32_t>(random() % 300 * 3491); // all over the keys
    const ReductionKey key = ReductionKey::from_index(index);
    switch (random() % 4) {
    case 0:
    case 1:
      if (!expected.contains(index)) {
        // Mostly in order within a timer; now and then time jumps back.
        const auto timer = static_cast<std::uint8_t>(random() % 4);
        const TimeNs deadline{now + 100U * timer - (random() % 20 == 0 ? 50 : 0)};
        queues.start(key, timer, deadline);
        expected[index] = deadline;
      }
      break;
    case 2:
      if (expected.erase(index) != 0) {
        queues.stop(key);
      }
      break;
    case 3:
      queues.for_each_due(TimeNs{now}, [&](ReductionKey due) {
        ASSERT_TRUE(expected.contains(due.index()));
        ASSERT_LE(expected[due.index()].value, now);
        expected.erase(due.index());
        queues.stop(due);
      });
      for (const auto& [k, deadline] : expected) {
        ASSERT_GT(deadline.value, now) << k;
      }
      queues.tighten();
      break;
    }
    ASSERT_EQ(queues.size(), expected.size());
    TimeNs earliest = never;
    std::size_t listed = 0;
    for (const auto& [k, deadline] : expected) {
      earliest = std::min(earliest, deadline);
    }
    ASSERT_LE(queues.earliest(), earliest);
    queues.for_each([&](ReductionKey k) {
      ++listed;
      ASSERT_EQ(queues.deadline(k), expected.at(k.index()));
    });
    ASSERT_EQ(listed, expected.size());
  }
}

TEST(Timers, a_partial_result_leaves_in_the_class_of_the_first_contribution) {
  TestSwitch s;
  s.give(parent, arm(7));
  for (const std::uint8_t c : std::initializer_list<std::uint8_t>{5, 2}) {
    Frame frame(contribution(7));
    FrameView view = frame.view();
    view.traffic_class = c;
    expect_absorbed(s.core.process(child, view, s.now));
  }
  s.pass(60'000'000'000);
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].traffic_class, TrafficClass{5});
}

} // namespace
} // namespace tributary::core::test
