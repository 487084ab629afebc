// Tags and pauses at the ports of links between switches, with threads and rings.
#include "tests/unit/dataplane/worker/fabric.hpp"

#include "dataplane/worker/port_monitor.hpp"
#include "tributary/wire/pause_frame.hpp"
#include "tributary/wire/vlan_tag.hpp"

#include <cstring>
#include <optional>
#include <span>

namespace tributary::worker::test {
namespace {

constexpr TrafficClass urgent{3};

Frame tagged(Frame frame, TrafficClass c, std::uint16_t vlan) {
  frame.insert(frame.begin(), wire::vlan_tag_bytes, std::byte{0});
  wire::insert_vlan_tag(frame.data() + wire::vlan_tag_bytes, {c, vlan});
  return frame;
}

Frame pause_frame(ClassSet classes, std::uint16_t quanta) {
  wire::PauseFrame pause{.classes = classes};
  classes.for_each([&](TrafficClass c) { pause.quanta[c.value] = quanta; });
  Frame frame(wire::pause_frame_bytes);
  wire::encode(pause, {}, std::span<std::byte, wire::pause_frame_bytes>(frame));
  return frame;
}

std::optional<Frame> expect_frame(Host& host) {
  std::optional<Frame> frame;
  static_cast<void>(eventually([&] { return (frame = host.receive()).has_value(); }));
  return frame;
}

/// Port 0, the root, and port 1 carry tags; `urgent` is lossless at both.
class EdgeTest : public ::testing::TestWithParam<std::uint32_t> {
protected:
  static Options options(std::uint16_t vlan = 0) {
    return {.workers = GetParam(), .configure = [vlan](std::size_t number, config::Port& port) {
              if (number < 2) {
                port.tags = true;
                port.vlan = vlan;
                port.classes.queues.classes[urgent.value].when_full = egress::WhenFull::pause;
                port.classes.pauses[urgent.value].xoff = {8, 1U << 20};
                port.classes.pauses[urgent.value].xon = {2, 1U << 19};
              }
            }};
  }
  static egress::QueueSnapshot queue(Fabric& fabric, std::uint8_t port) {
    return fabric.workers().queue(0, PortNumber{port}, urgent);
  }
};

TEST_P(EdgeTest, a_class_crosses_in_a_tag_where_links_have_tags_and_is_not_seen_elsewhere) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    const Frame plain = bytes_of(arm_frame(1));
    fabric.root().send(tagged(plain, urgent, 0));
    EXPECT_EQ(expect_frame(fabric.host(1)), tagged(plain, urgent, 0));
    EXPECT_EQ(expect_frame(fabric.host(2)), plain);
    EXPECT_EQ(expect_frame(fabric.host(3)), plain);
    EXPECT_TRUE(eventually([&] { return queue(fabric, 1).frames == 1; }));
    EXPECT_EQ(queue(fabric, 1).bytes, plain.size());
    // One without a tag is of class 0, and gets none.
    const Frame next = bytes_of(arm_frame(2));
    fabric.root().send(next);
    EXPECT_EQ(expect_frame(fabric.host(1)), next);
    EXPECT_EQ(expect_frame(fabric.host(2)), next);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(EdgeTest, a_link_with_a_vlan_tags_all_and_takes_no_other_vlan) {
  Fabric fabric(options(7));
  const Frame plain = bytes_of(arm_frame(1));
  fabric.root().send(tagged(plain, urgent, 8));
  EXPECT_TRUE(eventually([&] { return fabric.drops(0, core::DropReason::foreign_vlan) == 1; }));
  Frame cut = tagged(plain, urgent, 7);
  cut.resize(16);
  fabric.root().send(cut);
  EXPECT_TRUE(eventually([&] { return fabric.drops(0, core::DropReason::bad_tag) == 1; }));
  fabric.root().send(plain);
  EXPECT_EQ(expect_frame(fabric.host(1)), tagged(plain, TrafficClass{0}, 7));
  EXPECT_EQ(expect_frame(fabric.host(2)), plain);
}

TEST_P(EdgeTest, a_pause_holds_its_class_back_and_never_reaches_the_core) {
  Fabric fabric(options());
  std::uint32_t sent = 0;
  std::size_t got = 0;
  // The pause is over after some milliseconds, whatever this thread does in between.
  EXPECT_TRUE(eventually([&] {
    fabric.host(1).send(pause_frame(ClassSet::of(urgent), wire::longest_pause));
    fabric.root().send(tagged(bytes_of(arm_frame(++sent)), urgent, 0));
    got += fabric.host(1).receive_all();
    return queue(fabric, 1).highest.frames > 0;
  }));
  fabric.host(1).send(pause_frame(ClassSet::of(urgent), 0));
  EXPECT_TRUE(eventually([&] { return (got += fabric.host(1).receive_all()) == sent; }));
  EXPECT_GT(queue(fabric, 1).pauses_received, 0U);
  EXPECT_GT(queue(fabric, 1).paused_ns, 0U);
  EXPECT_FALSE(queue(fabric, 1).paused);
  EXPECT_EQ(fabric.drops(1, core::DropReason::foreign_ethertype), 0U);
  Frame strange = pause_frame(ClassSet::of(urgent), 1);
  strange[0] = std::byte{2};
  fabric.host(1).send(strange);
  EXPECT_TRUE(eventually([&] { return fabric.drops(1, core::DropReason::bad_pause) == 1; }));
  EXPECT_EQ(fabric.drops(1, core::DropReason::foreign_ethertype), 0U);
}

TEST_P(EdgeTest, a_sender_is_paused_before_anything_is_lost_and_goes_on_when_there_is_room) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    const auto received_pause = [&]() -> std::optional<wire::PauseFrame> {
      wire::PauseFrame pause;
      const auto frame = fabric.root().receive();
      if (!frame || wire::decode(*frame, pause) != wire::PauseError::none) {
        return std::nullopt;
      }
      return pause;
    };
    // No host receives behind port 1: its ring fills up, and then its queue.
    std::optional<wire::PauseFrame> pause;
    std::uint32_t sent = 0;
    while (!pause && sent < 2 * port::RingLinks::frames_per_ring) {
      const bool nearly_full = sent + 100 > port::RingLinks::frames_per_ring;
      for (int i = nearly_full ? 1 : 100; i > 0; --i) {
        fabric.root().send(tagged(bytes_of(arm_frame(++sent)), urgent, 0));
      }
      ASSERT_TRUE(eventually([&] {
        const egress::QueueSnapshot q = queue(fabric, 1);
        return q.frames + q.waiting.frames == sent;
      }));
      if (queue(fabric, 1).waiting.frames > 8) { // xoff
        ASSERT_TRUE(eventually([&] { return (pause = received_pause()).has_value(); }));
      }
    }
    ASSERT_TRUE(pause.has_value());
    EXPECT_EQ(pause->classes, ClassSet::of(urgent));
    EXPECT_EQ(pause->quanta[urgent.value], wire::longest_pause);
    EXPECT_EQ(sent,
              port::RingLinks::frames_per_ring + 8U); // a ring has room for one less than its size
    EXPECT_GT(queue(fabric, 0).pauses_sent, 0U);

    for (std::uint32_t i = 1; i <= sent; ++i) {
      ASSERT_EQ(expect_frame(fabric.host(1)), tagged(bytes_of(arm_frame(i)), urgent, 0))
          << "frame " << i;
    }
    // Refreshed meanwhile, maybe often; then ended.
    EXPECT_TRUE(eventually([&] {
      pause = received_pause();
      return pause && pause->quanta[urgent.value] == 0;
    }));
    EXPECT_EQ(queue(fabric, 0).resumes_sent, 1U);
    for (const core::DropReason reason : egress::queue_drop_reasons) {
      EXPECT_EQ(fabric.drops(1, reason), 0U) << core::name_of(reason);
    }
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

TEST_P(EdgeTest, a_class_that_is_paused_for_too_long_is_given_up_and_others_are_not) {
  Options o = options();
  const auto configure = o.configure;
  o.configure = [&](std::size_t number, config::Port& port) {
    configure(number, port);
    port.classes.queues.watchdog = {.detection_ns = 2'000'000, .restoration_ns = 1'000'000};
  };
  Fabric fabric(o);
  PortMonitor monitor(fabric.workers());
  std::uint32_t sent = 0;
  EXPECT_TRUE(eventually([&] {
    fabric.host(1).send(pause_frame(ClassSet::of(urgent), wire::longest_pause));
    fabric.root().send(tagged(bytes_of(arm_frame(++sent)), urgent, 0));
    fabric.root().send(bytes_of(arm_frame(++sent)));
    for (std::size_t leaf = 1; leaf < 4; ++leaf) {
      fabric.host(leaf).receive_all();
    }
    monitor.poll();
    return fabric.drops(1, core::DropReason::paused_too_long) > 0;
  }));
  EXPECT_GT(queue(fabric, 1).given_up_times, 0U);
  EXPECT_EQ(fabric.workers().queue(0, PortNumber{1}, TrafficClass{0}).given_up_times, 0U);
  EXPECT_TRUE(eventually([&] {
    monitor.poll();
    return !queue(fabric, 1).given_up;
  }));
}

TEST_P(EdgeTest, a_partial_result_leaves_in_the_class_of_its_contributions) {
  Options o = options();
  o.settings.timers.units.fill(core::EngineTimers::units_from_us(20'000));
  Fabric fabric(o);
  // Until one is armed in time: this thread may lose its core in between.
  std::optional<Frame> result;
  std::uint32_t sequence = 0;
  EXPECT_TRUE(eventually([&] {
    fabric.root().send(arm_frame(++sequence));
    std::optional<Frame> arm = expect_frame(fabric.host(1));
    fabric.host(1).send(tagged(bytes_of(contribution(sequence, 1)), urgent, 0));
    result = expect_frame(fabric.root());
    return result && fabric.sum([](const core::Counters& counters) {
      return counters.trees[tree.value].partial.read();
    }) != 0;
  }));
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(wire::has_vlan_tag(result->data()));
  EXPECT_EQ(result->size(), wire::reduction_frame_bytes + wire::vlan_tag_bytes);
  EXPECT_EQ(queue(fabric, 0).frames, sequence) << "partial or passed through, all in one class";
}

INSTANTIATE_TEST_SUITE_P(Workers, EdgeTest, ::testing::Values(1U, 2U));

} // namespace
} // namespace tributary::worker::test
