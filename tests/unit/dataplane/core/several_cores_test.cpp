// One switch with several workers: each core owns some ports, and with them the engines of the
// trees whose engines belong to them.

#include "dataplane/core/engine_home.hpp"
#include "tests/unit/dataplane/core/random_frames.hpp"

#include <map>

namespace tributary::core::test {
namespace {

TEST(EnginePort, IsTheTreesForFramesOfItsReductionsAndTheIngressForAllOthers) {
  for (const std::uint32_t descriptors : {64U, std::uint32_t{reduction_keys}}) {
    SwitchSettings settings;
    settings.descriptors_per_engine = descriptors;
    TestSwitch s(settings);
    const PortNumber home = engine_home(tree, s.core.tables().tree(tree), descriptors);
    const auto port_for = [&](PortNumber in, Frame f) { return s.core.engine_port(in, f.view()); };
    EXPECT_EQ(port_for(child, Frame(contribution(1))), home);
    EXPECT_EQ(port_for(child, Frame(arm(1))), home);
    EXPECT_EQ(port_for(parent, Frame(arm(1))), home);
    EXPECT_EQ(port_for(stranger, Frame(contribution(1))), stranger);
    auto unknown = contribution(1);
    unknown.tree = TreeNumber{8000};
    EXPECT_EQ(port_for(child, Frame(unknown)), child);
    auto ordinary = contribution(1);
    ordinary.tree = ordinary_tree;
    EXPECT_EQ(port_for(child, Frame(ordinary)), child);
    auto foreign = contribution(1);
    foreign.ethertype = 0x0800;
    EXPECT_EQ(port_for(child, Frame(foreign)), child);
    for (std::size_t length = 0; length < 34; ++length) {
      Frame runt(contribution(1));
      runt.resize(length);
      EXPECT_EQ(port_for(child, runt), child);
    }
    EXPECT_EQ(s.all_drops(), 0U);
  }
}

TEST(SeveralCores, TogetherDoWhatOneDoes) {
  // Three cores with two ports each against one with all: same decisions, same frames, same sums of
  // counters.
  for (const bool spread : {false, true}) {
    RandomFrames random(seed() + 2);
    SwitchSettings settings = random_test_settings();
    if (spread) { // engines belong to any of their trees' ports
      settings.descriptors_per_engine = reduction_keys;
    }
    TestSwitch whole(settings);
    std::deque<TestSwitch> parts;
    for (const std::uint64_t ports : {0b000011U, 0b001100U, 0b110000U}) {
      parts.emplace_back(settings, PortSet{ports});
    }
    whole.adopt(random_test_tables(settings.timers));
    for (TestSwitch& part : parts) {
      part.adopt(random_test_tables(settings.timers));
    }
    std::uint64_t handed_over = 0;
    for (int i = 0; i < 120'000; ++i) {
      const PortNumber in = random.port();
      Frame f = random.frame();
      Frame copy = f;
      std::size_t owners = 0;
      Decision by_part;
      for (TestSwitch& part : parts) {
        const PortNumber engine = part.core.engine_port(in, copy.view());
        if (part.core.owned_ports().contains(engine)) {
          ++owners;
          handed_over += part.core.owned_ports().contains(in) ? 0 : 1;
          by_part = part.give(in, f);
          break;
        }
      }
      ASSERT_EQ(owners, 1U);
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
        for (const auto& e : part.emitted) {
          ASSERT_TRUE(spread || part.core.owned_ports().contains(e.port));
        }
      }
      ASSERT_EQ(emitted, whole.emitted.size());
      ASSERT_EQ(occupied, whole.descriptors().size());
    }
    EXPECT_GT(handed_over, 0U);
    EXPECT_GT(whole.emitted.size(), 0U);
    for (std::size_t p = 0; p < port_count; ++p) {
      for (std::size_t r = 0; r < drop_reason_count; ++r) {
        std::uint64_t sum = 0;
        for (const TestSwitch& part : parts) {
          sum += part.core.counters().ports[p].drops[r].read();
        }
        EXPECT_EQ(sum, whole.core.counters().ports[p].drops[r].read());
      }
    }
  }
}

TEST(SeveralCores, FrameOfATreeAnotherCoreOwnsPassesUnreduced) {
  // The transient state while workers adopt new tables one after the other.
  TestSwitch s({}, PortSet{0b10});
  expect_forwarded(s.give(child, contribution(1)), parent, Event::passed_not_armed);
}

} // namespace
} // namespace tributary::core::test
