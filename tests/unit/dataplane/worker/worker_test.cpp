// The path of a frame through a worker: the core's decisions are applied to real buffers, and every
// buffer returns to the pool.
#include "tests/unit/dataplane/worker/fabric.hpp"

#include "dataplane/core/engine_home.hpp"
#include "dataplane/port/mbuf_ownership.hpp"
#include "dataplane/worker/port_monitor.hpp"
#include "tests/support/scratch_directory.hpp"

#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace tributary::worker::test {
namespace {

std::uint64_t total_frames(const Fabric& fabric, core::Counter core::PortCounters::*counter,
                           std::size_t port) {
  return fabric.sum([&](const core::Counters& c) { return (c.ports[port].*counter).read(); });
}

struct Sharing {
  std::uint32_t workers;
  bool own_queues;
};

/// With one worker; with ports spread over two; and with two of which each has a transmit queue of
/// each port.
class WorkerTest : public ::testing::TestWithParam<Sharing> {
protected:
  [[nodiscard]] Options options() const {
    Options o;
    o.workers = GetParam().workers;
    o.own_queues = GetParam().own_queues;
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, WorkerTest,
                         ::testing::Values(Sharing{1, false}, Sharing{2, false}, Sharing{2, true}),
                         [](const auto& test) {
                           return "workers" + std::to_string(test.param.workers) +
                                  (test.param.own_queues ? "each_with_queues" : "");
                         });

TEST_P(WorkerTest, reduces_contributions_of_all_leaves_into_one_frame) {
  Fabric fabric(options());
  for (std::uint32_t round = 0; round < 50; ++round) {
    fabric.arm(round);
    for (std::size_t leaf = 1; leaf < 4; ++leaf) {
      fabric.host(leaf).send(contribution(round, 100 * leaf));
    }
    const auto result = fabric.root().expect_reduction();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->word.count, 3U);
    EXPECT_EQ(result->word.resno, SequenceNumber(round));
    EXPECT_EQ(result->payload, (wire::Payload{600, 603, 606, 609}));
  }
  EXPECT_FALSE(fabric.root().receive().has_value());
  EXPECT_EQ(total_frames(fabric, &core::PortCounters::tx_frames, 0), 50U);
  EXPECT_EQ(total_frames(fabric, &core::PortCounters::tx_bytes, 0), 50U * 94);
  EXPECT_EQ(total_frames(fabric, &core::PortCounters::rx_frames, 1), 50U);
  EXPECT_EQ(total_frames(fabric, &core::PortCounters::rx_bytes, 1), 50U * 94);
}

TEST_P(WorkerTest, replicas_are_bit_identical_and_every_buffer_returns_to_the_pool) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    const Frame sent = bytes_of(arm_frame(3));
    constexpr int at_once = 50; // a switch of threads for each frame would be most of the time
    for (int i = 0; i < 2000; i += at_once) {
      for (int k = 0; k < at_once; ++k) {
        fabric.root().send(sent);
      }
      for (std::size_t leaf = 1; leaf < 4; ++leaf) {
        for (int k = 0; k < at_once; ++k) {
          std::optional<Frame> got;
          ASSERT_TRUE(eventually([&] { return (got = fabric.host(leaf).receive()).has_value(); }));
          ASSERT_EQ(*got, sent);
        }
      }
    }
    fabric.stop();
    EXPECT_EQ(eal().free_buffers(), before);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, a_burst_of_several_trees_reaches_each_port_in_order) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    // Tree t goes to the ports that are the bits of its number: 2 to 1, 4 to 2, 6 to both, ...
    core::TablesBuilder builder;
    for (int port = 0; port < 4; ++port) {
      ASSERT_EQ(builder.add_port({}), "");
    }
    for (std::uint16_t t = 2; t < 16; t = static_cast<std::uint16_t>(t + 2)) {
      ASSERT_EQ(builder.add_tree(TreeNumber{t}, 0, PortNumber{0}, PortSet{t}), "");
    }
    fabric.workers().publish(0, builder.build(2));

    std::vector<std::vector<Frame>> expected(4);
    std::mt19937 random(7);
    std::uint16_t t = 2;
    for (std::uint32_t i = 0; i < 500; ++i) {
      if (random() % 3 == 0) { // runs of one tree, and of two trees alike
        t = static_cast<std::uint16_t>(2 + 2 * (random() % 7));
      }
      const Frame frame = bytes_of(contribution(i, i, TreeNumber{t}));
      fabric.root().send(frame);
      for (std::size_t port = 1; port < 4; ++port) {
        if ((t >> port & 1) != 0) {
          expected[port].push_back(frame);
        }
      }
    }
    for (std::size_t port = 1; port < 4; ++port) {
      for (const Frame& frame : expected[port]) {
        std::optional<Frame> got;
        ASSERT_TRUE(eventually([&] { return (got = fabric.host(port).receive()).has_value(); }));
        ASSERT_EQ(*got, frame);
      }
      EXPECT_EQ(total_frames(fabric, &core::PortCounters::tx_frames, port), expected[port].size());
    }
    fabric.stop();
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, buffers_left_in_rings_return_when_the_ports_close) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    for (int i = 0; i < 100; ++i) {
      fabric.root().send(arm_frame(3));
    }
    ASSERT_TRUE(
        eventually([&] { return total_frames(fabric, &core::PortCounters::tx_frames, 3) == 100; }));
    EXPECT_LT(eal().free_buffers(), before);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, drops_are_freed_and_counted_under_their_reason) {
  const std::uint32_t before = eal().free_buffers();
  Fabric fabric(options());
  const Frame whole = bytes_of(contribution(0, 1));
  for (int i = 0; i < 10; ++i) {
    fabric.host(1).send(Frame(whole.begin(), whole.begin() + 20));
    fabric.host(2).send(contribution(0, 1, TreeNumber{99}));
  }
  EXPECT_TRUE(eventually([&] {
    return fabric.drops(1, core::DropReason::runt) == 10 &&
           fabric.drops(2, core::DropReason::unknown_tree) == 10;
  }));
  fabric.stop();
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, a_timer_sends_what_has_come_from_a_buffer_of_the_pool) {
  Options o = options();
  o.settings.timers.units.fill(core::EngineTimers::units_from_us(300'000));
  Fabric fabric(o);
  fabric.arm(5);
  fabric.host(1).send(contribution(5, 10));
  fabric.host(2).send(contribution(5, 20));
  const auto result = fabric.root().expect_reduction();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->word.count, 2U);
  EXPECT_EQ(result->payload[0], 30U);
}

TEST_P(WorkerTest, stopping_sends_what_engines_hold) {
  const std::uint32_t before = eal().free_buffers();
  Fabric fabric(options());
  fabric.arm(9);
  fabric.host(3).send(contribution(9, 77));
  ASSERT_TRUE(eventually([&] {
    return fabric.sum([](const core::Counters& c) { return c.engines[0].contributions.read(); }) ==
           1;
  }));
  fabric.stop();
  const auto result = fabric.root().receive();
  ASSERT_TRUE(result.has_value());
  wire::ReductionFrame decoded;
  ASSERT_EQ(wire::decode(*result, wire::default_ethertype, decoded), wire::DecodeError::none);
  EXPECT_EQ(decoded.word.count, 1U);
  EXPECT_EQ(decoded.payload[0], 77U);
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, a_shared_buffer_is_copied_before_it_goes_up) {
  Fabric fabric(options());
  fabric.arm(1);
  fabric.host(1).send(contribution(1, 1));
  fabric.host(2).send(contribution(1, 2));
  // The last contribution completes the reduction, and its frame would become the result.
  const Frame original = bytes_of(contribution(1, 3));
  rte_mbuf* shared = rte_pktmbuf_alloc(eal().pool());
  port::takes_ownership(shared);
  std::memcpy(rte_pktmbuf_append(shared, static_cast<std::uint16_t>(original.size())),
              original.data(), original.size());
  rte_mbuf_refcnt_update(shared, 1);
  fabric.host(3).send(shared);
  const auto result = fabric.root().expect_reduction();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->word.count, 3U);
  EXPECT_TRUE(eventually([&] { return rte_mbuf_refcnt_read(shared) == 1; }));
  port::takes_ownership(shared);
  EXPECT_EQ(0,
            std::memcmp(rte_pktmbuf_mtod(shared, const void*), original.data(), original.size()));
  rte_pktmbuf_free(shared);
}

TEST_P(WorkerTest, a_frame_in_two_segments_is_joined) {
  const std::uint32_t before = eal().free_buffers();
  Fabric fabric(options());
  fabric.arm(2);
  const Frame whole = bytes_of(contribution(2, 5));
  rte_mbuf* head = rte_pktmbuf_alloc(eal().pool());
  rte_mbuf* tail = rte_pktmbuf_alloc(eal().pool());
  std::memcpy(rte_pktmbuf_append(head, 40), whole.data(), 40);
  std::memcpy(rte_pktmbuf_append(tail, 54), whole.data() + 40, 54);
  ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
  fabric.host(1).send(head);
  fabric.host(2).send(contribution(2, 6));
  fabric.host(3).send(contribution(2, 7));
  const auto result = fabric.root().expect_reduction();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->payload[0], 18U);
  fabric.stop();
  EXPECT_EQ(eal().free_buffers(), before);
}

egress::QueueSnapshot queue_of(Fabric& fabric, std::uint8_t port) {
  return fabric.workers().queue(0, PortNumber{port}, TrafficClass{0});
}

/// Frames given to a port so far.
std::uint64_t given_to(Fabric& fabric, std::uint8_t port) {
  const egress::QueueSnapshot q = queue_of(fabric, port);
  return q.frames + q.waiting.frames + q.dropped(core::DropReason::queue_full);
}

/// The leaves do not receive: their rings fill up, then `waiting` frames wait.
void fill_outputs(Fabric& fabric, std::uint64_t waiting) {
  const std::uint64_t frames = port::RingLinks::frames_per_ring + waiting;
  for (std::uint32_t i = 1; i <= frames; ++i) {
    fabric.root().send(arm_frame(i));
    if (i % 256 == 0 || i == frames) { // no faster than the ring between the workers takes them
      ASSERT_TRUE(eventually([&] { return given_to(fabric, 1) == i && given_to(fabric, 2) == i; }));
    }
  }
}

TEST_P(WorkerTest, what_a_full_output_ring_does_not_take_waits_up_to_the_queues_bound) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    fill_outputs(fabric, 2000);
    const egress::QueueSnapshot q = queue_of(fabric, 1);
    // All copies are of one worker, which may have queues of its own beside the port's.
    const std::uint32_t limit = q.limit.frames / (GetParam().own_queues ? 2 : 1);
    EXPECT_EQ(q.waiting.frames, limit);
    EXPECT_EQ(q.waiting.bytes, limit * wire::reduction_frame_bytes);
    EXPECT_EQ(q.highest, q.waiting);
    EXPECT_GT(fabric.drops(1, core::DropReason::queue_full), 0U);
    EXPECT_EQ(fabric.drops(1, core::DropReason::queue_full),
              q.dropped(core::DropReason::queue_full));
    EXPECT_EQ(total_frames(fabric, &core::PortCounters::tx_frames, 1), q.frames);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, what_waited_leaves_in_order_once_there_is_room) {
  Fabric fabric(options());
  fill_outputs(fabric, 300);
  ASSERT_GT(queue_of(fabric, 1).waiting.frames, 0U);
  for (std::uint32_t i = 1; i <= port::RingLinks::frames_per_ring + 300; ++i) {
    const auto got = fabric.host(1).expect_reduction();
    ASSERT_TRUE(got.has_value()) << "frame " << i;
    ASSERT_EQ(got->word.seqno, SequenceNumber(i));
  }
  EXPECT_TRUE(eventually([&] { return queue_of(fabric, 1).waiting.frames == 0; }));
  EXPECT_GT(queue_of(fabric, 1).highest.frames, 0U);
  EXPECT_GT(queue_of(fabric, 2).waiting.frames, 0U) << "no host receives there";
}

TEST_P(WorkerTest, what_waits_at_the_end_leaves_as_far_as_it_is_taken) {
  const std::uint32_t before = eal().free_buffers();
  // The end waits only a limited time for a reader, which a busy machine may delay for longer.
  bool all_of_it = false;
  for (int attempt = 0; attempt < 10 && !all_of_it; ++attempt) {
    Fabric fabric(options());
    fill_outputs(fabric, 300);
    const std::uint64_t frames = port::RingLinks::frames_per_ring + 300;
    std::uint64_t got = 0;
    fabric.workers().request_stop();
    // Port 2 is not read, which must not block port 1.
    EXPECT_TRUE(eventually([&] {
      got += fabric.host(1).receive_all();
      return got + fabric.drops(1, core::DropReason::port_down) == frames;
    }));
    fabric.stop();
    EXPECT_EQ(queue_of(fabric, 2).frames + fabric.drops(2, core::DropReason::port_down), frames);
    EXPECT_GT(fabric.drops(2, core::DropReason::port_down), 0U);
    all_of_it = got == frames;
  }
  EXPECT_TRUE(all_of_it);
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, what_waits_when_a_port_is_paused_is_dropped_as_port_down) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    fill_outputs(fabric, 300);
    const std::uint64_t waiting = queue_of(fabric, 2).waiting.frames;
    ASSERT_GT(waiting, 0U);
    fabric.workers().pause_port(0, PortNumber{2});
    // The worker counts a frame as dropped before it stops counting it as waiting.
    EXPECT_TRUE(eventually([&] {
      return fabric.drops(2, core::DropReason::port_down) == waiting &&
             queue_of(fabric, 2).waiting.frames == 0;
    }));
    EXPECT_GT(queue_of(fabric, 1).waiting.frames, 0U);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST(WorkerGroup, a_full_ring_between_workers_drops_as_handoff_full_and_loses_no_buffer) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric({.workers = 2, .settings = engines_at_parents()});
    fabric.host(1).send(contribution(1, 1)); // passed on to the engine's worker, the first one
    ASSERT_TRUE(fabric.root().expect_reduction().has_value());
    fabric.arm(1);
    // A visit of the first worker's descriptor holds that worker, and the ring to it fills up.
    std::uint64_t dropped = 0;
    fabric.workers().for_each_descriptor(0, [&](const core::DescriptorView&) {
      EXPECT_TRUE(eventually([&] {
        for (int i = 0; i < 64; ++i) {
          fabric.host(1).send(contribution(1, 1));
        }
        dropped = fabric.drops(1, core::DropReason::handoff_full);
        return dropped > 0;
      }));
    });
    EXPECT_GT(dropped, 0U);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, a_paused_port_drops_as_port_down_and_others_go_on) {
  Fabric fabric(options());
  fabric.workers().pause_port(0, PortNumber{2});
  fabric.root().send(arm_frame(4));
  EXPECT_TRUE(fabric.host(1).expect_reduction().has_value());
  EXPECT_TRUE(fabric.host(3).expect_reduction().has_value());
  EXPECT_TRUE(eventually([&] { return fabric.drops(2, core::DropReason::port_down) == 1; }));
  EXPECT_FALSE(fabric.host(2).receive().has_value());
  fabric.workers().resume_port(0, PortNumber{2});
  fabric.arm(5);
}

TEST_P(WorkerTest, ports_that_were_quiet_are_heard_while_another_keeps_the_worker_busy) {
  Fabric fabric(options());
  const Frame strange(60);
  std::uint64_t sent = 0;
  const auto taken = [&] { return total_frames(fabric, &core::PortCounters::rx_frames, 1); };
  const auto keep_busy = [&] {
    // Frames it takes meanwhile are for the next time: it may be faster than this.
    for (const auto ahead = taken() + port::RingLinks::frames_per_ring / 2; sent < ahead; ++sent) {
      fabric.host(1).send(strange);
    }
  };
  for (std::uint32_t round = 0; round < 3; ++round) {
    // Far more iterations than it takes a port to become quiet.
    const std::uint64_t until = taken() + 20'000;
    ASSERT_TRUE(eventually([&] {
      keep_busy();
      return taken() >= until;
    }));
    for (const std::size_t leaf : {2U, 3U}) {
      auto frame = contribution(0, leaf);
      frame.reduction = ReductionId{static_cast<std::uint8_t>(round)};
      fabric.host(leaf).send(frame); // nothing is armed: it passes
    }
    std::size_t heard = 0;
    EXPECT_TRUE(eventually([&] {
      keep_busy();
      heard += fabric.root().receive_all();
      return heard == 2;
    }));
  }
}

TEST_P(WorkerTest, impairments_of_a_port_lose_and_are_counted) {
  const std::uint32_t before = eal().free_buffers();
  {
    Options o = options();
    o.impairments.resize(4);
    o.impairments[1] = {.settings = {.loss = 0.5}, .seed = 42};
    Fabric fabric(o);
    for (int i = 0; i < 1000; ++i) {
      fabric.root().send(arm_frame(1));
    }
    EXPECT_TRUE(eventually([&] {
      return total_frames(fabric, &core::PortCounters::tx_frames, 1) +
                 fabric.drops(1, core::DropReason::impaired) ==
             1000;
    }));
    const std::uint64_t lost = fabric.drops(1, core::DropReason::impaired);
    EXPECT_GT(lost, 350U);
    EXPECT_LT(lost, 650U);
    EXPECT_EQ(fabric.host(1).receive_all(), 1000 - lost);
    EXPECT_TRUE(eventually(
        [&] { return total_frames(fabric, &core::PortCounters::tx_frames, 3) == 1000; }));
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, delayed_and_duplicated_frames_are_not_lost_when_the_switch_stops) {
  const std::uint32_t before = eal().free_buffers();
  {
    Options o = options();
    o.impairments.resize(4);
    o.impairments[0] = {.settings = {.duplicate = 1.0, .delay_ns = 100 * ns_per_second}, .seed = 1};
    Fabric fabric(o);
    for (int i = 0; i < 20; ++i) {
      fabric.root().send(arm_frame(1));
    }
    ASSERT_TRUE(
        eventually([&] { return total_frames(fabric, &core::PortCounters::rx_frames, 0) == 20; }));
    EXPECT_FALSE(fabric.host(1).receive().has_value());
    fabric.stop();
    EXPECT_EQ(fabric.host(1).receive_all(), 40U);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

/// Sends `count` arms, waits until all possible ones have left by port 1, and returns how many
/// arrived.
std::size_t arms_through(Fabric& fabric, std::uint64_t count) {
  const auto done = [&] {
    return total_frames(fabric, &core::PortCounters::tx_frames, 1) +
           fabric.drops(1, core::DropReason::impaired);
  };
  const std::uint64_t before = done();
  for (std::uint64_t i = 0; i < count; ++i) {
    fabric.root().send(arm_frame(1));
  }
  EXPECT_TRUE(eventually([&] { return done() == before + count; }));
  return fabric.host(1).receive_all();
}

TEST_P(WorkerTest, an_impairment_is_set_changed_and_cleared_while_frames_flow) {
  using impairment::Direction;
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    WorkerGroup& workers = fabric.workers();
    const auto counts = [&] {
      return workers.impairment_counts(0, PortNumber{1}, Direction::sent);
    };
    EXPECT_EQ(arms_through(fabric, 300), 300U);
    EXPECT_EQ(counts().frames, 0U);

    workers.impair(0, PortNumber{1}, Direction::sent, {.settings = {.loss = 0.5}, .seed = 7});
    const std::size_t first = arms_through(fabric, 300);
    EXPECT_EQ(counts().frames, 300U);
    EXPECT_EQ(counts().lost, 300 - first);
    EXPECT_GT(counts().lost, 90U);
    EXPECT_LT(counts().lost, 210U);
    EXPECT_EQ(fabric.drops(1, core::DropReason::impaired), counts().lost);
    EXPECT_EQ(workers.impairment(0, PortNumber{1}, Direction::sent).seed, 7U);

    workers.impair(0, PortNumber{1}, Direction::sent, {.settings = {.loss = 1}, .seed = 7});
    EXPECT_EQ(arms_through(fabric, 300), 0U);

    workers.clear_impairment(0, PortNumber{1}, Direction::sent);
    const std::uint64_t lost = counts().lost;
    EXPECT_EQ(arms_through(fabric, 300), 300U);
    EXPECT_EQ(counts().frames, 600U) << "what passes without one is not counted";
    EXPECT_EQ(counts().lost, lost);
    EXPECT_FALSE(workers.impairment(0, PortNumber{1}, Direction::sent).any());
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(WorkerTest, what_an_impairment_held_leaves_when_it_is_cleared) {
  using impairment::Direction;
  for (const Direction direction : {Direction::received, Direction::sent}) {
    Fabric fabric(options());
    WorkerGroup& workers = fabric.workers();
    const PortNumber port{static_cast<std::uint8_t>(direction == Direction::sent ? 1 : 0)};
    const config::Impairment slow{.settings = {.delay_ns = 100 * ns_per_second}, .seed = 1};
    workers.impair(0, port, direction, slow);
    for (int i = 0; i < 20; ++i) {
      fabric.root().send(arm_frame(1));
    }
    ASSERT_TRUE(eventually([&] { return workers.impaired_held(0, port, direction) == 20; }));
    workers.impair(0, port, direction, slow);
    EXPECT_EQ(workers.impaired_held(0, port, direction), 20U) << "and is kept by a change";
    EXPECT_FALSE(fabric.host(1).receive().has_value());
    workers.clear_impairment(0, port, direction);
    EXPECT_EQ(workers.impaired_held(0, port, direction), 0U);
    EXPECT_TRUE(
        eventually([&] { return total_frames(fabric, &core::PortCounters::tx_frames, 1) == 20; }));
    EXPECT_EQ(fabric.host(1).receive_all(), 20U);
  }
}

TEST_P(WorkerTest, an_impairment_of_other_kinds_of_frames_leaves_these_alone) {
  using impairment::Direction;
  Fabric fabric(options());
  impairment::Settings settings{.loss = 1, .kinds = {}};
  settings.kinds.insert(impairment::Kind::unicast);
  fabric.workers().impair(0, PortNumber{1}, Direction::sent, {.settings = settings, .seed = 1});
  EXPECT_EQ(arms_through(fabric, 200), 200U);
  EXPECT_EQ(fabric.workers().impairment_counts(0, PortNumber{1}, Direction::sent).frames, 0U);
}

TEST(WorkerGroup, hands_frames_over_only_where_ports_belong_to_different_workers) {
  {
    Fabric alone({.workers = 1});
    alone.arm(1);
    EXPECT_EQ(alone.workers().statistics(0).handed_over.read(), 0U);
  }
  Fabric shared({.workers = 2, .settings = engines_at_parents()});
  EXPECT_EQ(shared.workers().worker_of(0, PortNumber{0}), 0U);
  EXPECT_EQ(shared.workers().worker_of(0, PortNumber{1}), 1U);
  shared.arm(1);
  // Down: ports 1 and 3 are the other worker's.
  EXPECT_TRUE(eventually([&] { return shared.workers().statistics(0).handed_over.read() == 2; }));
  shared.host(1).send(contribution(1, 1));
  // Up: the engine of port 0 is worker 0's.
  EXPECT_TRUE(eventually([&] { return shared.workers().statistics(1).handed_over.read() == 1; }));
}

TEST(WorkerGroup, results_are_whole_whatever_ports_of_a_worker_bring_for_an_engine_elsewhere) {
  const std::uint32_t before = eal().free_buffers();
  {
    // Worker 1 has ports 1, 3, 5, 7 and 9, and worker 0 the engine.
    Fabric fabric({.ports = 10, .workers = 2, .settings = engines_at_parents()});
    for (std::uint32_t round = 1; round < 200; ++round) {
      fabric.arm(round);
      for (std::size_t leaf = 1; leaf < 10; ++leaf) {
        fabric.host(leaf).send(contribution(round, 100 * leaf));
      }
      const auto result = fabric.root().expect_reduction();
      ASSERT_TRUE(result.has_value());
      ASSERT_EQ(result->word.count, 9U);
      ASSERT_EQ(result->payload, (wire::Payload{4500, 4509, 4518, 4527}));
    }
    EXPECT_EQ(fabric.sum([](const core::Counters& c) { return c.engines[0].contributions.read(); }),
              199U * 9);
    fabric.stop();
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST(WorkerGroup, an_engine_may_belong_to_another_worker_than_the_trees_parent_port) {
  Fabric fabric({.workers = 2});
  const PortNumber home = core::engine_home(tree, fabric.workers().tables(0)->tree(tree),
                                            core::SwitchSettings{}.descriptors_per_engine);
  ASSERT_EQ(fabric.workers().worker_of(0, home), 1U) << "or this tests nothing";
  fabric.arm(1);
  // Down: the arm, and the copy for port 2.
  EXPECT_EQ(fabric.workers().statistics(0).handed_over.read(), 1U);
  EXPECT_EQ(fabric.workers().statistics(1).handed_over.read(), 1U);
  for (std::size_t leaf = 1; leaf < 4; ++leaf) {
    fabric.host(leaf).send(contribution(1, leaf));
  }
  const auto result = fabric.root().expect_reduction();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->word.count, 3U);
  EXPECT_EQ(result->payload[0], 6U);
}

TEST(WorkerGroup, a_worker_sends_by_its_own_queues_of_the_ports_of_others) {
  Fabric fabric({.workers = 2, .own_queues = true});
  for (std::uint32_t round = 1; round < 20; ++round) {
    fabric.arm(round);
    for (std::size_t leaf = 1; leaf < 4; ++leaf) {
      fabric.host(leaf).send(contribution(round, leaf));
    }
    const auto result = fabric.root().expect_reduction();
    ASSERT_TRUE(result.has_value());
    ASSERT_EQ(result->payload[0], 6U);
  }
  // Only arms and contributions cross, on their way to the engine; neither copies nor results.
  const PortNumber home = core::engine_home(tree, fabric.workers().tables(0)->tree(tree),
                                            core::SwitchSettings{}.descriptors_per_engine);
  ASSERT_EQ(fabric.workers().worker_of(0, home), 1U) << "or this tests nothing";
  EXPECT_EQ(fabric.workers().statistics(1).handed_over.read(), 0U);
  EXPECT_EQ(fabric.workers().statistics(0).handed_over.read(), 19U * 2);
  EXPECT_EQ(queue_of(fabric, 0).frames, 19U);
  EXPECT_EQ(queue_of(fabric, 2).frames, 19U);
}

TEST(WorkerGroup, what_an_impairment_is_to_meet_leaves_by_the_ports_worker_meanwhile) {
  Fabric fabric({.workers = 2, .own_queues = true});
  WorkerGroup& workers = fabric.workers();
  const auto handed_over = [&] { return workers.statistics(1).handed_over.read(); };
  workers.impair(0, PortNumber{2}, impairment::Direction::sent,
                 {.settings = {.duplicate = 1}, .seed = 1});
  fabric.root().send(arm_frame(1)); // worker 1 has the engine, and sends the copies
  ASSERT_TRUE(fabric.host(2).expect_reduction().has_value());
  ASSERT_TRUE(fabric.host(2).expect_reduction().has_value());
  EXPECT_TRUE(eventually([&] { return handed_over() == 1; }));
  workers.clear_impairment(0, PortNumber{2}, impairment::Direction::sent);
  fabric.root().send(arm_frame(2));
  ASSERT_TRUE(fabric.host(2).expect_reduction().has_value());
  EXPECT_EQ(handed_over(), 1U);
}

TEST(WorkerGroup, ports_with_classes_of_their_own_are_left_to_their_workers) {
  config::Port port;
  port.kind = config::PortKind::null;
  port.name = "plain";
  EXPECT_EQ(port::PortDevice(port, eal(), 1, 2).transmit_queues(), 2U);
  port.classes.set.insert(TrafficClass{1});
  EXPECT_EQ(port::PortDevice(port, eal(), 1, 2).transmit_queues(), 1U);
  port.classes.set = {};
  port.tags = true;
  EXPECT_EQ(port::PortDevice(port, eal(), 1, 2).transmit_queues(), 1U);
  port.tags = false;
  EXPECT_EQ(port::PortDevice(port, eal(), 1, 60'000).transmit_queues(), 1U)
      << "where a device has fewer";
}

/// What the root has got when frames leave by another port.
struct AtTheRoot {
  Host& root;
  std::uint16_t queue = 0; ///< of the other port
  std::vector<Frame> got{};
  std::size_t left = 0; ///< by the other port, so far
  bool always_first = true;
};

std::uint16_t look_at_the_root(std::uint16_t /*port*/, std::uint16_t queue, rte_mbuf** /*frames*/,
                               std::uint16_t count, void* of_test) {
  AtTheRoot& at_the_root = *static_cast<AtTheRoot*>(of_test);
  EXPECT_EQ(queue, at_the_root.queue);
  while (auto frame = at_the_root.root.receive()) {
    at_the_root.got.push_back(std::move(*frame));
  }
  at_the_root.left += count;
  at_the_root.always_first &= at_the_root.got.size() >= at_the_root.left;
  return count;
}

/// A switch that makes results itself, between a port that is observed, leaves at ports 1 and 3,
/// and the root at port 2. With two workers each of them has queues of all ports.
class RootFirstTest : public ::testing::TestWithParam<std::uint32_t> {
protected:
  RootFirstTest() {
    eal(); // DPDK has been started
    EXPECT_EQ(rte_eal_hotplug_add("vdev", device, "no-rx=1"), 0);
    const bool several = GetParam() > 1;
    core::TablesBuilder builder;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(builder.add_port({}), "");
    }
    for (std::uint8_t r = 0; r < reductions; r += reductions_per_tree) {
      EXPECT_EQ(builder.add_tree(tree_of(r), 3, root, PortSet{0b1011}, {.in_switch = true}), "");
    }
    fabric_ =
        std::make_unique<Fabric>(Options{.ports = 4,
                                         .workers = GetParam(),
                                         .own_queues = several,
                                         .sorted = several ? PortSet{0b1110} : PortSet{},
                                         .stepped = true,
                                         .tables = builder.build(1),
                                         .poll = config::Poll::busy,
                                         .configure = [](std::size_t number, config::Port& port) {
                                           if (number == 0) {
                                             port.kind = config::PortKind::pci;
                                             port.pci_address = device;
                                           }
                                         }});
    EXPECT_EQ(rte_eth_dev_get_port_by_name(device, &number_), 0);
    if (const placement::Placement* const placed = fabric_->workers().placement(0)) {
      worker_ = static_cast<std::uint16_t>(placed->worker_of(tree_of(0)));
    }
  }
  ~RootFirstTest() override {
    fabric_.reset();
    EXPECT_EQ(rte_eal_hotplug_remove("vdev", device), 0);
  }
  /// Trees that the same worker has, of two.
  static TreeNumber tree_of(std::uint8_t reduction) {
    return TreeNumber{static_cast<std::uint16_t>(7 + 2 * (reduction / reductions_per_tree))};
  }
  void send(std::size_t member, wire::ReductionFrame frame, std::uint8_t reduction) {
    frame.tree = tree_of(reduction);
    frame.reduction = ReductionId{static_cast<std::uint8_t>(reduction % reductions_per_tree)};
    frame.word.resno = frame.word.arm ? SequenceNumber(1023) : frame.word.seqno;
    fabric_->host(member).send(frame, worker_);
  }
  void step() { fabric_->workers().step(worker_); }
  /// Arms the first ones.
  void arm(std::uint8_t count) {
    for (std::uint8_t r = 0; r < count; ++r) {
      send(root.value, arm_frame(7), r);
      step();
    }
    for (const std::size_t leaf : {1U, 3U}) {
      ASSERT_EQ(fabric_->host(leaf).receive_all(), count);
    }
  }
  void contribute(std::size_t member, std::uint8_t first, std::uint8_t end) {
    for (std::uint8_t r = first; r < end; ++r) {
      send(member, contribution(7, member), r);
    }
  }
  /// Calls `f`, and returns what was observed meanwhile.
  template <typename F> AtTheRoot observe(F&& f) {
    AtTheRoot at_the_root{.root = fabric_->host(root.value), .queue = worker_};
    const auto* const observed =
        rte_eth_add_tx_callback(number_, worker_, look_at_the_root, &at_the_root);
    EXPECT_NE(observed, nullptr);
    f();
    EXPECT_EQ(rte_eth_remove_tx_callback(number_, worker_, observed), 0);
    return at_the_root;
  }

  static constexpr const char* device = "net_null_observed";
  static constexpr std::uint8_t reductions = 40;
  static constexpr PortNumber root{2};
  std::unique_ptr<Fabric> fabric_;
  std::uint16_t number_ = 0;
  std::uint16_t worker_ = 0; ///< has the tree
};

TEST_P(RootFirstTest, a_result_leaves_to_the_root_before_it_leaves_by_a_port_with_a_lower_number) {
  EXPECT_TRUE(GetParam() == 1 || worker_ != fabric_->workers().worker_of(0, root))
      << "or the second case is the first one";
  arm(1);
  const AtTheRoot seen = observe([&] {
    for (const std::size_t member : {2U, 1U, 3U}) {
      contribute(member, 0, 1);
      step();
    }
  });
  EXPECT_TRUE(seen.always_first);
  EXPECT_EQ(seen.left, 1U);
  ASSERT_EQ(seen.got.size(), 1U);
  wire::ReductionFrame result;
  ASSERT_EQ(wire::decode(seen.got[0], wire::default_ethertype, result), wire::DecodeError::none);
  EXPECT_EQ(result.payload[0], 6U);
}

TEST_P(RootFirstTest, more_results_than_a_port_collects_leave_to_the_root_first) {
  constexpr std::uint8_t half = reductions / 2;
  static_assert(half <= Worker::burst && reductions > Worker::burst);
  arm(reductions);
  for (const std::uint8_t first : {std::uint8_t{0}, half}) {
    contribute(root.value, first, first + half);
    contribute(first == 0 ? 3 : 1, first, first + half);
    step();
  }
  // The last contributions to one half come by a port, those to the other by another one.
  contribute(1, 0, half);
  contribute(3, half, reductions);
  const AtTheRoot seen = observe([&] { step(); });
  EXPECT_TRUE(seen.always_first);
  EXPECT_EQ(seen.left, std::size_t{reductions});
  EXPECT_EQ(seen.got.size(), std::size_t{reductions});
}

INSTANTIATE_TEST_SUITE_P(WorkerGroup, RootFirstTest, ::testing::Values(1, 2),
                         [](const auto& info) { return std::to_string(info.param); });

TEST(WorkerGroup, an_idle_worker_sleeps_and_a_busy_poller_does_not) {
  Fabric idle({.poll = config::Poll::adaptive});
  EXPECT_TRUE(eventually([&] { return idle.workers().statistics(0).sleeps.read() > 10; }));
  EXPECT_GT(idle.workers().statistics(0).slept_ns.read(), 0U);
  idle.stop();
  Fabric busy({.poll = config::Poll::busy});
  EXPECT_TRUE(eventually([&] { return busy.workers().statistics(0).iterations.read() > 10'000; }));
  EXPECT_EQ(busy.workers().statistics(0).sleeps.read(), 0U);
}

TEST(WorkerGroup, a_worker_on_a_cpu_that_does_not_exist_is_refused_and_says_so) {
  config::Process process;
  process.workers = 2;
  process.cores = {0, 1000};
  SwitchPlan plan;
  plan.tables = core::TablesBuilder().build(1);
  WorkerGroup group(process, eal(), {plan});
  try {
    group.start();
    FAIL() << "started";
  } catch (const port::PortError& error) {
    EXPECT_NE(std::string(error.what()).find("CPU 1000"), std::string::npos) << error.what();
  }
}

TEST(WorkerGroup, stops_and_joins_when_it_was_never_started) {
  SwitchPlan plan;
  plan.tables = core::TablesBuilder().build(1);
  WorkerGroup group({}, eal(), {plan});
  group.publish(0, core::TablesBuilder().build(2));
  EXPECT_EQ(group.tables(0)->version(), 2U);
}

TEST(PortMonitor, counts_a_ring_whose_other_end_closed_as_down) {
  config::Port near;
  near.name = "near";
  near.kind = config::PortKind::ring;
  near.ring = "monitored";
  port::PortDevice device(near, eal());
  auto far = std::make_unique<port::PortDevice>(near, eal());
  SwitchPlan plan;
  plan.name = "s";
  plan.ports = {&device};
  core::TablesBuilder tables;
  ASSERT_EQ(tables.add_port({}), "");
  plan.tables = tables.build(1);
  WorkerGroup group({}, eal(), {plan});
  group.start();
  PortMonitor monitor(group);
  monitor.poll();
  EXPECT_EQ(monitor.history(0, PortNumber{0}).state, port::LinkState::up);
  far.reset();
  monitor.poll();
  EXPECT_EQ(monitor.history(0, PortNumber{0}).state, port::LinkState::down);
  EXPECT_EQ(monitor.history(0, PortNumber{0}).went_down, 1U);
  far = std::make_unique<port::PortDevice>(near, eal());
  monitor.poll();
  EXPECT_EQ(monitor.history(0, PortNumber{0}).came_up, 1U);
}

TEST(PortMonitor, lets_go_of_a_nic_that_is_removed_and_the_other_ports_go_on) {
  eal(); // DPDK has been started
  ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_null_pulled", ""), 0);
  config::Port pulled;
  pulled.name = "pulled";
  pulled.kind = config::PortKind::pci;
  pulled.pci_address = "net_null_pulled"; // a fake device without hardware
  port::PortDevice nic(pulled, eal());
  config::Port ring;
  ring.name = "near";
  ring.kind = config::PortKind::ring;
  ring.ring = "beside a nic";
  port::PortDevice device(ring, eal());
  port::PortDevice far(ring, eal());
  SwitchPlan plan;
  plan.name = "s";
  plan.ports = {&nic, &device};
  core::TablesBuilder tables;
  ASSERT_EQ(tables.add_port({}), "");
  ASSERT_EQ(tables.add_port({}), "");
  plan.tables = tables.build(1);
  WorkerGroup group({}, eal(), {plan});
  group.start();
  PortMonitor monitor(group);
  monitor.poll();
  EXPECT_EQ(monitor.history(0, PortNumber{0}).state, port::LinkState::up);
  rte_dev_event_callback_process("net_null_pulled", RTE_DEV_EVENT_REMOVE);
  monitor.poll();
  EXPECT_EQ(monitor.history(0, PortNumber{0}).state, port::LinkState::away);
  EXPECT_EQ(monitor.history(0, PortNumber{0}).went_away, 1U);
  EXPECT_FALSE(nic.is_open()) << "the kernel waits for that";
  for (int poll = 0; poll < 30; ++poll) {
    monitor.poll();
  }
  EXPECT_EQ(monitor.history(0, PortNumber{0}).reopened, 0U);
  std::array<rte_mbuf*, 1> frame{};
  ASSERT_TRUE(port::allocate(eal().pool(), frame));
  rte_pktmbuf_append(frame[0], 94);
  EXPECT_TRUE(eventually([&] { return far.transmit(frame.data(), 1) == 1; }));
  EXPECT_TRUE(eventually([&] { return group.counters(0)[0]->ports[1].rx_frames.read() == 1; }));
  EXPECT_EQ(rte_eal_hotplug_remove("vdev", "net_null_pulled"), 0);
}

} // namespace
} // namespace tributary::worker::test
