// The queues against their reference, and without allocation.

#include "tests/support/allocations.hpp"
#include "tests/unit/dataplane/egress/world.hpp"
#include "tests/unit/include/wire/seed.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tributary::egress::test {
namespace {

TEST(Model, QueuesDoWhatTheReferenceSays) {
  World::Totals sum;
  const Random chance(tributary::test::seed());
  for (std::uint64_t run = 0; run < 50; ++run) {
    tributary::Random random = chance.fork(run);
    const auto world = std::make_unique<World>(
        [&](std::uint32_t n) { return static_cast<std::uint32_t>(random.below(n)); });
    for (int step = 0; step < 600; ++step) {
      const std::string problem = world->step();
      ASSERT_EQ(problem, "") << "run " << run << ", step " << step;
    }
    const World::Totals totals = world->totals();
    sum.sent += totals.sent;
    sum.pauses_wanted += totals.pauses_wanted;
    sum.given_up += totals.given_up;
    sum.trimmed += totals.trimmed;
    for (std::size_t reason = 0; reason < queue_drop_reasons.size(); ++reason) {
      sum.dropped[reason] += totals.dropped[reason];
    }
  }
  EXPECT_GT(sum.sent, 10'000U);
  EXPECT_GT(sum.pauses_wanted, 100U);
  EXPECT_GT(sum.given_up, 5U);
  EXPECT_GT(sum.trimmed, 500U);
  for (const DropReason reason : queue_drop_reasons) {
    EXPECT_GT(sum.dropped[queue_drop_index(reason)], 20U) << name_of(reason);
  }
}

/// A device that keeps no record.
struct Counted {
  std::uint16_t transmit(const Frame* /*frames*/, std::uint16_t count, TrafficClass /*c*/) {
    const auto taken = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, room));
    room -= taken;
    return taken;
  }
  void drop(const Frame* /*frames*/, std::uint16_t count, TrafficClass /*c*/, DropReason /*why*/) {
    dropped += count;
  }
  std::uint64_t room = 0;
  std::uint64_t dropped = 0;
};

TEST(Model, NothingIsAllocatedAfterConstruction) {
  tributary::Random random(tributary::test::seed());
  PortSettings settings;
  settings.classes[2].when_full = settings.classes[3].when_full = WhenFull::pause;
  settings.classes[5].service = Service::strict;
  IngressAccounts accounts;
  Queues queues{settings, &accounts};
  Counted device;
  std::array<Frame, 50> run{};
  const std::size_t before = tributary::test::allocations();
  EXPECT_GT(before, 0U) << "the count counts";
  TimeNs now = ms(1);
  for (int i = 0; i < 100'000; ++i) {
    now = now + 1000;
    device.room = random.below(40);
    const TrafficClass c = cls(static_cast<unsigned>(random.below(8)));
    const auto count = static_cast<std::uint32_t>(random.below(run.size()));
    std::fill_n(run.begin(), count,
                Frame{1, static_cast<std::uint32_t>(random.below(1500)), random.below(2) == 0});
    queues.push(run.data(), count, c, port(static_cast<unsigned>(random.below(4))), now, device);
    queues.flush(now, device);
    if (random.below(100) == 0) {
      queues.pause(pause_of(ClassSet::of(c), static_cast<std::uint16_t>(random.below(1000))), now);
    }
    if (random.below(10'000) == 0) {
      queues.link_down(DropReason::port_down, now, device);
    }
    (void)queues.snapshot(c);
  }
  EXPECT_EQ(tributary::test::allocations(), before);
  EXPECT_GT(device.dropped, 0U);
  queues.link_down(DropReason::port_down, now, device);
}

} // namespace
} // namespace tributary::egress::test
