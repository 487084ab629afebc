// Engines that move from one core to another while reductions are under way.
#include "tests/unit/dataplane/core/random_frames.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tributary::core::test {
namespace {

void move_tree(TreeNumber which, TestSwitch& from, TestSwitch& to) {
  const EngineState state = from.core.give_out({&which, 1});
  to.core.take_in(state);
}

TEST(EngineState, a_reduction_that_moves_in_the_middle_has_the_same_result) {
  TestSwitch a;
  TestSwitch b;
  a.give(parent, arm(7));
  a.give(child, contribution(7));
  a.give(other_child, contribution(7));
  move_tree(tree, a, b);
  EXPECT_TRUE(a.descriptors().empty());
  EXPECT_TRUE(a.emitted.empty()) << "nothing leaves as a partial result";
  ASSERT_EQ(b.descriptors().size(), 1U);
  auto rest = contribution(7);
  rest.word.count = 2;
  Frame last(rest);
  expect_emitted(b.give(third_child, last), parent);
  EXPECT_EQ(last.decoded().word.count, wait_count);
}

TEST(EngineState, its_timer_goes_along) {
  TestSwitch a;
  TestSwitch b;
  a.give(parent, arm(7));
  a.give(child, contribution(7));
  const TimeNs deadline = a.descriptors().at(0).deadline;
  a.pass(1000);
  b.pass(1000);
  move_tree(tree, a, b);
  EXPECT_EQ(b.descriptors().at(0).deadline, deadline);
  EXPECT_EQ(a.core.next_deadline(), never);
  b.pass(elapsed_ns(deadline, b.now));
  EXPECT_EQ(b.emitted.size(), 1U);
  EXPECT_TRUE(b.descriptors().empty());
}

TEST(EngineState, which_sequence_ended_goes_along) {
  TestSwitch a;
  TestSwitch b;
  a.give(parent, arm(7));
  auto all = contribution(7);
  all.word.count = wait_count;
  a.give(child, all);
  move_tree(tree, a, b);
  EXPECT_EQ(b.give(child, contribution(7)).event, Event::passed_late);
  EXPECT_EQ(a.give(child, contribution(7)).event, Event::passed_not_armed);
}

TEST(EngineState, the_vector_that_it_holds_goes_along) {
  TestSwitch a = wide_switch();
  TestSwitch b = wide_switch();
  using Ints = std::vector<std::uint32_t>;
  a.give(parent, with_id(arm(7), high_id));
  a.give(child, wide_frame(wide_contribution(7), Ints(352, 5)));
  move_tree(tree, a, b);
  wire::WideFrame rest = wide_contribution(7, Nid{4});
  rest.word.count = wait_count - 1;
  Frame last = wide_frame(rest, Ints(352, 1));
  expect_emitted(b.give(other_child, last), parent);
  EXPECT_EQ(elements_of<std::uint32_t>(last), Ints(352, 6));
}

TEST(EngineState, of_other_trees_stays) {
  TestSwitch a;
  TestSwitch b;
  a.give(parent, arm(7));
  move_tree(ordinary_tree, a, b);
  EXPECT_EQ(a.descriptors().size(), 1U);
  EXPECT_TRUE(b.descriptors().empty());
}

/// Two cores among which trees move at random, against one that has all: the same decisions, frames
/// and sums of counters.
TEST(EngineState, moves_at_any_time_change_nothing) {
  RandomFrames random(seed() + 5);
  SwitchSettings settings = random_test_settings();
  settings.descriptors_per_engine = reduction_keys;
  TestSwitch whole(settings);
  std::deque<TestSwitch> parts;
  parts.emplace_back(settings);
  parts.emplace_back(settings);
  whole.adopt(random_test_tables(settings.timers));
  for (TestSwitch& part : parts) {
    part.adopt(random_test_tables(settings.timers));
  }
  std::array<std::size_t, 8> owner{};
  std::size_t moved_reductions = 0;
  for (int i = 0; i < 120'000; ++i) {
    if (random.below(20) == 0) {
      const TreeNumber which{static_cast<std::uint16_t>(random.below(4))};
      std::size_t& at = owner.at(which.value);
      TestSwitch& from = parts[at];
      at = 1 - at;
      const std::size_t before = parts[at].descriptors().size();
      move_tree(which, from, parts[at]);
      moved_reductions += parts[at].descriptors().size() - before;
    }
    const PortNumber in = random.port();
    Frame f = random.frame();
    Frame copy = f;
    const FrameView view = copy.view();
    std::size_t at = 0;
    if (view.length >= shortest_frame_bytes) {
      const wire::FabricAddress dfa = wire::dfa_of(view.data + wire::ethernet_header_bytes);
      at = dfa.is_multicast() && dfa.tree().value < owner.size() ? owner.at(dfa.tree().value) : 0;
    }
    const Decision by_part = parts[at].give(in, f);
    const Decision d = whole.give(in, copy);
    ASSERT_EQ(by_part.action, d.action);
    ASSERT_EQ(by_part.event, d.event);
    ASSERT_EQ(f, copy);
    const std::uint64_t step = random.below(2000);
    whole.pass(step);
    std::size_t emitted = 0;
    std::size_t occupied = 0;
    for (TestSwitch& part : parts) {
      part.pass(step);
      emitted += part.emitted.size();
      occupied += part.descriptors().size();
    }
    ASSERT_EQ(emitted, whole.emitted.size());
    ASSERT_EQ(occupied, whole.descriptors().size());
  }
  EXPECT_GT(moved_reductions, 100U) << "or this tests nothing";
  EXPECT_GT(whole.emitted.size(), 0U);
  for (std::size_t p = 0; p < port_count; ++p) {
    for (std::size_t r = 0; r < drop_reason_count; ++r) {
      EXPECT_EQ(parts[0].core.counters().ports[p].drops[r].read() +
                    parts[1].core.counters().ports[p].drops[r].read(),
                whole.core.counters().ports[p].drops[r].read());
    }
  }
}

} // namespace
} // namespace tributary::core::test
