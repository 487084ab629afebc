// Ports with a receive queue for each worker, to which the frames of the worker's trees come: here
// the sender chooses the queue, as a NIC's rules or hash do.
#include "tests/unit/dataplane/worker/fabric.hpp"
#include "tributary/wire/hello.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace tributary::worker::test {
namespace {

constexpr std::size_t ports = 4;
constexpr std::uint16_t queues = 2;
constexpr PortSet all_ports = PortSet::first(ports);
/// One tree of each worker, with two endpoints behind port 3: so any number of contributions may
/// come by each port.
constexpr std::array<TreeNumber, 2> trees{TreeNumber{6}, TreeNumber{7}};

std::shared_ptr<const core::Tables> two_trees() {
  core::TablesBuilder builder;
  for (std::size_t i = 0; i < ports; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  for (const TreeNumber t : trees) {
    EXPECT_EQ(builder.add_tree(t, 4, PortNumber{0}, PortSet{0b1110}), "");
  }
  return builder.build(1);
}

Options steered(PortSet sorted = all_ports) {
  return {
      .ports = ports, .workers = 2, .own_queues = true, .sorted = sorted, .tables = two_trees()};
}

std::uint16_t queue_of(Fabric& fabric, TreeNumber t) {
  return static_cast<std::uint16_t>(fabric.workers().placement(0)->worker_of(t));
}

wire::ReductionFrame from_leaf(std::uint8_t leaf, std::uint32_t sequence, TreeNumber t) {
  wire::ReductionFrame frame = contribution(sequence, leaf, t);
  frame.word.count = leaf == 3 ? 2 : 1;
  return frame;
}

void expect_result(Fabric& fabric, std::uint32_t sequence, TreeNumber t) {
  const auto result = fabric.root().expect_reduction();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->tree, t);
  EXPECT_EQ(result->word.seqno, SequenceNumber(sequence));
  EXPECT_EQ(result->word.count, 4U);
  EXPECT_EQ(result->payload[0], 6U);
}

/// One reduction of a tree, whose frames come to that queue of each port; of ports without queues
/// of their own to the only one.
void reduce(Fabric& fabric, std::uint32_t sequence, TreeNumber t, std::uint16_t queue,
            PortSet sorted = all_ports) {
  const auto lane = [&](std::uint8_t port) {
    return sorted.contains(PortNumber{port}) ? queue : std::uint16_t{0};
  };
  fabric.root().send(arm_frame(sequence, t), lane(0));
  for (std::uint8_t leaf = 1; leaf < ports; ++leaf) {
    ASSERT_TRUE(fabric.host(leaf).expect_reduction().has_value()) << "leaf " << int{leaf};
  }
  for (std::uint8_t leaf = 1; leaf < ports; ++leaf) {
    fabric.host(leaf).send(from_leaf(leaf, sequence, t), lane(leaf));
  }
  ASSERT_NO_FATAL_FAILURE(expect_result(fabric, sequence, t));
}

std::uint64_t handed_over(Fabric& fabric) {
  return fabric.workers().statistics(0).handed_over.read() +
         fabric.workers().statistics(1).handed_over.read();
}

TEST(Steered, frames_that_come_to_their_trees_worker_never_cross) {
  Fabric fabric(steered());
  ASSERT_NE(queue_of(fabric, trees[0]), queue_of(fabric, trees[1])) << "or this tests nothing";
  for (std::uint32_t sequence = 1; sequence <= 20; ++sequence) {
    for (const TreeNumber t : trees) {
      ASSERT_NO_FATAL_FAILURE(reduce(fabric, sequence, t, queue_of(fabric, t)));
    }
  }
  EXPECT_EQ(handed_over(fabric), 0U);
  for (std::size_t worker = 0; worker < 2; ++worker) {
    EXPECT_EQ(fabric.workers().statistics(worker).frames.read(), 20U * 4);
  }
}

/// As if a NIC's rule were missing, or late.
TEST(Steered, frames_that_come_elsewhere_are_handed_over_with_the_same_results) {
  Fabric fabric(steered());
  for (std::uint32_t sequence = 1; sequence <= 20; ++sequence) {
    for (const TreeNumber t : trees) {
      ASSERT_NO_FATAL_FAILURE(
          reduce(fabric, sequence, t, static_cast<std::uint16_t>(1 - queue_of(fabric, t))));
    }
  }
  EXPECT_EQ(handed_over(fabric), 2U * 20 * 4);
}

TEST(Steered, a_port_with_one_queue_beside_them_hands_over_by_tree) {
  constexpr PortSet sorted{0b0111};
  Fabric fabric(steered(sorted));
  ASSERT_NE(fabric.workers().placement(0), nullptr);
  for (std::uint32_t sequence = 1; sequence <= 20; ++sequence) {
    for (const TreeNumber t : trees) {
      ASSERT_NO_FATAL_FAILURE(reduce(fabric, sequence, t, queue_of(fabric, t), sorted));
    }
  }
  // Worker 1 has port 3: its contributions to the tree of worker 0.
  EXPECT_EQ(handed_over(fabric), 20U);
}

TEST(Steered, no_port_means_that_engines_are_at_ports) {
  Fabric fabric(steered(PortSet{}));
  EXPECT_EQ(fabric.workers().placement(0), nullptr);
}

/// They are counted by parent port.
TEST(Steered, ports_do_not_move_engines_where_descriptors_are_limited) {
  Options options = steered();
  options.settings = engines_at_parents();
  Fabric fabric(options);
  EXPECT_EQ(fabric.workers().placement(0), nullptr);
  // The port's worker polls all its queues.
  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    ASSERT_NO_FATAL_FAILURE(reduce(fabric, queue + 1U, trees[0], queue));
  }
}

TEST(Steered, a_hello_reaches_the_agent_from_any_queue_of_any_port) {
  Fabric fabric(steered());
  std::size_t sent = 0;
  std::size_t delivered = 0;
  for (std::size_t port = 0; port < ports; ++port) {
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
      fabric.host(port).send(
          wire::encode(
              wire::Hello{.guid = port + 1, .nid = {}, .name = "neighbour", .port_name = {}}),
          queue);
      ++sent;
    }
  }
  EXPECT_TRUE(eventually([&] {
    fabric.workers().take_delivered([&](const ControlFrame&) { ++delivered; });
    return delivered == sent;
  })) << delivered;
}

TEST(Steered, what_an_impairment_is_to_meet_is_received_by_the_ports_worker_meanwhile) {
  Fabric fabric(steered());
  WorkerGroup& workers = fabric.workers();
  workers.impair(0, PortNumber{0}, impairment::Direction::received,
                 {.settings = {.duplicate = 1}, .seed = 1});
  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    fabric.root().send(arm_frame(queue + 1U, trees[0]), queue);
    ASSERT_TRUE(fabric.host(1).expect_reduction().has_value());
    ASSERT_TRUE(fabric.host(1).expect_reduction().has_value()) << "its duplicate";
  }
  workers.clear_impairment(0, PortNumber{0}, impairment::Direction::received);
  const std::uint64_t before = handed_over(fabric);
  fabric.root().send(arm_frame(9, trees[1]), queue_of(fabric, trees[1]));
  ASSERT_TRUE(fabric.host(1).expect_reduction().has_value());
  EXPECT_EQ(handed_over(fabric), before);
}

// Trees that move. --------------------------------------------------------------------------------

void move(Fabric& fabric, TreeNumber t) {
  const std::size_t from = fabric.workers().placement(0)->worker_of(t);
  fabric.workers().move(0, {placement::bucket_of(t), from, 1 - from});
  EXPECT_EQ(fabric.workers().placement(0)->worker_of(t), 1 - from);
}

TEST(Steered, a_tree_may_move_between_any_two_frames_of_a_reduction) {
  Fabric fabric(steered());
  for (std::uint32_t sequence = 1; sequence <= 50; ++sequence) {
    const auto queue = static_cast<std::uint16_t>(sequence % queues); // the NIC may be late or not
    fabric.root().send(arm_frame(sequence, trees[0]), queue);
    for (std::uint8_t leaf = 1; leaf < ports; ++leaf) {
      ASSERT_TRUE(fabric.host(leaf).expect_reduction().has_value());
    }
    for (std::uint8_t leaf = 1; leaf < ports; ++leaf) {
      move(fabric, trees[0]);
      fabric.host(leaf).send(from_leaf(leaf, sequence, trees[0]), queue);
    }
    ASSERT_NO_FATAL_FAILURE(expect_result(fabric, sequence, trees[0]));
    ASSERT_NO_FATAL_FAILURE(reduce(fabric, sequence, trees[1], queue)) << "the other tree";
  }
  EXPECT_EQ(fabric.sum([](const core::Counters& c) { return c.engines[0].partial.read(); }), 0U);
}

TEST(Steered, a_tree_that_moves_under_traffic_loses_nothing) {
  Fabric fabric(steered());
  std::atomic<bool> moving{true};
  std::thread traffic([&] {
    for (std::uint32_t sequence = 1; sequence <= 500; ++sequence) {
      reduce(fabric, sequence, trees[0], static_cast<std::uint16_t>(sequence % queues));
      if (::testing::Test::HasFatalFailure()) {
        break;
      }
    }
    moving = false;
  });
  std::size_t moves = 0;
  for (; moving; ++moves) {
    move(fabric, trees[0]);
  }
  traffic.join();
  EXPECT_GT(moves, 20U) << "or this tests little";
  for (std::size_t port = 0; port < ports; ++port) {
    EXPECT_EQ(fabric.drops(port, core::DropReason::handoff_full), 0U);
  }
  EXPECT_EQ(fabric.sum([](const core::Counters& c) { return c.engines[0].partial.read(); }), 0U);
}

TEST(Steered, a_tree_that_moved_to_the_worker_its_frames_come_to_does_not_cross) {
  Fabric fabric(steered());
  const auto elsewhere = static_cast<std::uint16_t>(1 - queue_of(fabric, trees[0]));
  ASSERT_NO_FATAL_FAILURE(reduce(fabric, 1, trees[0], elsewhere));
  EXPECT_EQ(handed_over(fabric), 4U);
  move(fabric, trees[0]);
  ASSERT_NO_FATAL_FAILURE(reduce(fabric, 2, trees[0], elsewhere));
  EXPECT_EQ(handed_over(fabric), 4U);
}

// A worker that stalls, and rings that fill. ------------------------------------------------------

TEST(Steered, a_worker_that_stalls_costs_the_others_nothing_and_what_is_lost_is_counted) {
  const std::uint32_t buffers = eal().free_buffers();
  {
    Options options = steered();
    options.stepped = true;
    options.poll = config::Poll::busy;
    Fabric fabric(options);
    const std::uint16_t stalled = queue_of(fabric, trees[1]);
    const auto other = static_cast<std::uint16_t>(1 - stalled);
    // Contributions to the stalled worker's tree, which come to the other worker.
    const Frame frame = bytes_of(contribution(1, 1, trees[1]));
    constexpr std::size_t sent = handoff_ring_frames + 1000;
    for (std::size_t i = 0; i < sent; ++i) {
      fabric.host(1).send(frame, other);
      if (i % Worker::burst == 0) {
        fabric.workers().step(other);
      }
    }
    const auto step_until_empty = [&](std::uint16_t worker) {
      for (int i = 0; i < 1000; ++i) {
        fabric.workers().step(worker);
      }
    };
    step_until_empty(other);
    const std::uint64_t lost = fabric.drops(1, core::DropReason::handoff_full);
    EXPECT_GT(lost, 0U) << "no ring was full";
    // The other worker's tree works meanwhile.
    fabric.root().send(arm_frame(1, trees[0]), other);
    step_until_empty(other);
    for (std::size_t leaf = 1; leaf < ports; ++leaf) {
      ASSERT_TRUE(fabric.host(leaf).receive().has_value());
      fabric.host(leaf).send(from_leaf(static_cast<std::uint8_t>(leaf), 1, trees[0]), other);
    }
    step_until_empty(other); // a busy worker polls quiet ports seldom
    EXPECT_TRUE(fabric.root().receive().has_value());
    // Once it runs again, all that was not dropped passes: nothing was armed for it.
    std::uint64_t passed = 0;
    for (int i = 0; i < 1000; ++i) {
      fabric.workers().step(stalled);
      passed += fabric.root().receive_all();
    }
    EXPECT_EQ(passed + lost + fabric.drops(0, core::DropReason::queue_full), sent);
  }
  EXPECT_EQ(eal().free_buffers(), buffers);
}

} // namespace
} // namespace tributary::worker::test
