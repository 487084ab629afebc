// The path of hellos between the ports and the control thread.
#include "tests/unit/dataplane/worker/fabric.hpp"

#include "tributary/wire/hello.hpp"

#include <rte_mbuf.h>

namespace tributary::worker::test {
namespace {

struct ReportOutcome {
  std::size_t switch_index;
  PortNumber port;
  Frame bytes;
};

wire::Hello hello(std::string name) {
  return {.kind = wire::HelloKind::switch_port,
          .guid = 1,
          .port = PortNumber{2},
          .nid = {},
          .interval_ms = 1000,
          .name = std::move(name),
          .port_name = {}};
}

void take(Fabric& fabric, std::vector<ReportOutcome>& heard) {
  fabric.workers().take_delivered([&](const ControlFrame& frame) {
    const auto bytes = frame.view();
    heard.push_back({frame.switch_index, frame.port, Frame(bytes.begin(), bytes.end())});
  });
}

class HelloTest : public ::testing::TestWithParam<std::uint32_t> {
protected:
  [[nodiscard]] Options options() const {
    Options o;
    o.workers = GetParam();
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, HelloTest, ::testing::Values(1U, 2U),
                         [](const auto& test) { return "workers" + std::to_string(test.param); });

TEST_P(HelloTest, a_hello_that_comes_in_is_delivered_whole_and_leaves_by_no_port) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    wire::Hello longest = hello(std::string(wire::max_hello_name, 'n'));
    longest.port_name.assign(wire::max_hello_port_name, 'p');
    for (std::size_t port = 0; port < 4; ++port) {
      longest.port = PortNumber{static_cast<std::uint8_t>(port)};
      fabric.host(port).send(wire::encode(longest));
    }
    std::vector<ReportOutcome> heard;
    ASSERT_TRUE(eventually([&] {
      take(fabric, heard);
      return heard.size() == 4;
    }));
    for (const ReportOutcome& one : heard) {
      EXPECT_EQ(one.switch_index, 0U);
      longest.port = one.port;
      EXPECT_EQ(one.bytes, wire::encode(longest));
    }
    for (std::size_t port = 0; port < 4; ++port) {
      EXPECT_FALSE(fabric.host(port).receive().has_value());
    }
    fabric.stop();
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(HelloTest, what_the_control_thread_sends_leaves_by_that_port_alone) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    const Frame sent = wire::encode(hello("s"));
    for (std::uint8_t port = 0; port < 4; ++port) {
      ASSERT_TRUE(fabric.workers().send(0, PortNumber{port}, sent));
      std::optional<Frame> got;
      ASSERT_TRUE(eventually([&] { return (got = fabric.host(port).receive()).has_value(); }));
      EXPECT_EQ(*got, sent);
    }
    for (std::size_t port = 0; port < 4; ++port) {
      EXPECT_FALSE(fabric.host(port).receive().has_value());
    }
    fabric.stop();
    // In a class of its own, ahead of frames that wait in the others.
    for (std::uint8_t port = 0; port < 4; ++port) {
      EXPECT_EQ(fabric.workers().queue(0, PortNumber{port}, TrafficClass{7}).frames, 1U);
    }
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(HelloTest, delivered_frames_that_are_not_taken_are_dropped_as_delivery_full) {
  Fabric fabric(options());
  const Frame sent = wire::encode(hello("s"));
  const std::uint64_t surplus = 100;
  for (std::uint64_t i = 0; i < control_ring_frames + surplus; ++i) {
    fabric.host(1).send(sent);
  }
  EXPECT_TRUE(
      eventually([&] { return fabric.drops(1, core::DropReason::delivery_full) >= surplus; }));
  std::vector<ReportOutcome> heard;
  take(fabric, heard);
  EXPECT_EQ(heard.size() + fabric.drops(1, core::DropReason::delivery_full),
            control_ring_frames + surplus);
  // There is room again.
  heard.clear();
  fabric.host(1).send(sent);
  EXPECT_TRUE(eventually([&] {
    take(fabric, heard);
    return heard.size() == 1;
  }));
}

TEST(WorkerGroup, sends_no_more_than_fits_while_a_worker_is_held) {
  Fabric fabric({.workers = 1});
  fabric.arm(1);
  const Frame sent = wire::encode(hello("s"));
  std::size_t taken = 0;
  bool visited = false;
  fabric.workers().for_each_descriptor(0, [&](const core::DescriptorView&) {
    visited = true;
    while (taken < 2 * control_ring_frames && fabric.workers().send(0, PortNumber{1}, sent)) {
      ++taken;
    }
  });
  ASSERT_TRUE(visited);
  EXPECT_LE(taken, control_ring_frames);
  EXPECT_GT(taken, control_ring_frames / 2);
  std::size_t received = 0;
  EXPECT_TRUE(eventually([&] { return (received += fabric.host(1).receive_all()) == taken; }));
}

TEST_P(HelloTest, the_trace_names_a_hello_and_shows_no_tree) {
  Fabric fabric(options());
  fabric.host(2).send(wire::encode(hello("s")));
  std::vector<TraceEvent> events;
  ASSERT_TRUE(eventually([&] { return !(events = fabric.workers().trace()).empty(); }));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].event, core::Event::hello);
  EXPECT_EQ(events[0].action, core::Action::deliver);
  EXPECT_EQ(events[0].port, PortNumber{2});
  EXPECT_FALSE(events[0].multicast);
}

} // namespace
} // namespace tributary::worker::test
