// When statistics are due, and their contents.

#include "test_agent.hpp"

#include <gmock/gmock.h>

#include <array>

namespace tributary::agent {
namespace {

class Statistics : public testing::Test {
protected:
  control::Statistics ask(std::uint32_t descriptors = 0) {
    agent.agent.statistics(workers, pauses, descriptors);
    const auto messages = agent.agent.take_messages();
    EXPECT_EQ(messages.size(), 1U);
    return messages.empty() ? control::Statistics() : messages[0].statistics();
  }

  TestAgent agent{leaf0(), {.hello_interval_ns = 0}};
  std::array<core::Counters, 2> counters;
  std::array<const core::Counters*, 2> workers{&counters[0], &counters[1]};
  std::array<PortPauses, 6> pauses{};
};

TEST_F(Statistics, are_due_at_the_interval_that_the_manager_names) {
  agent.connect(0, 500);
  agent.drain();
  EXPECT_FALSE(agent.agent.statistics_due());
  EXPECT_EQ(agent.agent.next_deadline(), agent.now + 500 * ms);
  agent.now = agent.now + 500 * ms;
  agent.agent.poll(agent.now);
  EXPECT_TRUE(agent.agent.statistics_due());
  ask();
  EXPECT_FALSE(agent.agent.statistics_due());
  EXPECT_EQ(agent.agent.next_deadline(), agent.now + 500 * ms);
}

TEST_F(Statistics, are_never_due_when_none_are_wanted) {
  agent.connect(0, 0);
  agent.agent.poll(agent.now + 1'000'000 * second);
  EXPECT_FALSE(agent.agent.statistics_due());
}

TEST_F(Statistics, are_the_sums_over_the_workers) {
  agent.connect(0, 500);
  agent.drain();
  counters[0].ports[2].rx_frames.add(5);
  counters[1].ports[2].rx_frames.add(7);
  counters[1].ports[2].tx_frames.add(3);
  counters[0].drop(port(2), core::DropReason::no_route);
  counters[1].drop(port(2), core::DropReason::no_route);
  counters[0].ports[2].rx_bytes.add(500);
  counters[1].ports[2].tx_bytes.add(192);
  counters[0].engines[2].arms.add(9);
  pauses[2] = {.received = 4, .sent = 8, .paused_ns = 1'000};
  counters[0].engines[2].arm_failures.add(1);
  counters[0].engines[2].full.add(6);
  counters[1].engines[2].partial.add(2);
  const control::Statistics s = ask(17);
  EXPECT_EQ(s.descriptors_in_use(), 17U);
  ASSERT_EQ(s.ports_size(), 6);
  const control::PortStatistics& p = s.ports(2);
  EXPECT_EQ(p.port(), 2U);
  EXPECT_EQ(p.received(), 12U);
  EXPECT_EQ(p.sent(), 3U);
  EXPECT_EQ(p.received_bytes(), 500U);
  EXPECT_EQ(p.sent_bytes(), 192U);
  EXPECT_EQ(p.pauses_received(), 4U);
  EXPECT_EQ(p.pauses_sent(), 8U);
  EXPECT_EQ(p.paused_ns(), 1'000U);
  EXPECT_EQ(s.ports(3).pauses_received(), 0U);
  ASSERT_EQ(p.drops().size(), 1U);
  EXPECT_EQ(p.drops().at("no_route"), 2U);
  EXPECT_EQ(p.armed(), 9U);
  EXPECT_EQ(p.arm_failed(), 1U);
  EXPECT_EQ(p.full(), 6U);
  EXPECT_EQ(p.partial(), 2U);
  EXPECT_TRUE(s.ports(3).drops().empty());
}

TEST_F(Statistics, name_a_tree_only_when_something_happened_on_it_since) {
  agent.connect(0, 500);
  agent.drain();
  EXPECT_EQ(ask().trees_size(), 0);
  counters[0].trees[7].full.add(3);
  counters[1].trees[7].late.add(1);
  counters[1].trees[8191].stale.add(1);
  control::Statistics s = ask();
  ASSERT_EQ(s.trees_size(), 2);
  EXPECT_EQ(s.trees(0).tree(), 7U);
  EXPECT_EQ(s.trees(0).full(), 3U);
  EXPECT_EQ(s.trees(0).late(), 1U);
  EXPECT_EQ(s.trees(1).tree(), 8191U);
  EXPECT_EQ(s.trees(1).stale(), 1U);
  EXPECT_EQ(ask().trees_size(), 0);
  counters[0].trees[7].partial.add();
  s = ask();
  ASSERT_EQ(s.trees_size(), 1);
  EXPECT_EQ(s.trees(0).full(), 3U) << "counts since the switch started, not since the last message";
  EXPECT_EQ(s.trees(0).partial(), 1U);
}

TEST_F(Statistics, report_everything_to_a_new_manager) {
  agent.connect(0, 500);
  agent.drain();
  counters[0].trees[7].passed_through.add(3);
  EXPECT_EQ(ask().trees_size(), 1);
  agent.agent.channel_down(agent.now);
  agent.connect(0, 500);
  agent.drain();
  const control::Statistics s = ask();
  ASSERT_EQ(s.trees_size(), 1);
  EXPECT_EQ(s.trees(0).passed_through(), 3U);
}

TEST_F(Statistics, are_not_sent_without_a_manager) {
  agent.agent.statistics(workers, pauses, 0);
  EXPECT_TRUE(agent.agent.take_messages().empty());
}

} // namespace
} // namespace tributary::agent
