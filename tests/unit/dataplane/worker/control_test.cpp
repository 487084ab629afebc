// The control thread's operations on running workers: tables, mailbox, trace, capture, descriptors.
#include "tests/unit/dataplane/worker/fabric.hpp"

#include "dataplane/worker/mailbox.hpp"

#include <atomic>
#include <set>

namespace tributary::worker::test {
namespace {

class ControlTest : public ::testing::TestWithParam<std::uint32_t> {
protected:
  [[nodiscard]] Options options() const {
    Options o;
    o.workers = GetParam();
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ControlTest, ::testing::Values(1U, 2U),
                         [](const auto& test) { return "workers" + std::to_string(test.param); });

std::shared_ptr<const core::Tables> multicast_to(PortSet children, std::uint64_t version) {
  core::TablesBuilder builder;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  EXPECT_EQ(builder.add_tree(tree, 3, PortNumber{0}, children), "");
  return builder.build(version);
}

TEST_P(ControlTest, publish_is_in_force_for_every_frame_sent_after_it_returned) {
  Fabric fabric(options());
  const auto one = [](std::uint8_t port) { return PortSet(1ULL << port); };
  for (std::uint64_t round = 0; round < 300; ++round) {
    const auto port = static_cast<std::uint8_t>(1 + round % 3);
    fabric.workers().publish(0, multicast_to(one(port), round + 2));
    fabric.root().send(arm_frame(1));
    ASSERT_TRUE(fabric.host(port).expect_reduction().has_value()) << "round " << round;
    for (std::size_t other = 1; other < 4; ++other) {
      ASSERT_FALSE(fabric.host(other).receive().has_value()) << "round " << round;
    }
  }
}

TEST(TablePublisher, puts_the_snapshots_of_several_switches_in_force_at_once_and_frees_the_old) {
  const auto snapshot = [](std::uint64_t version) { return core::TablesBuilder().build(version); };
  auto first = snapshot(1);
  const std::weak_ptr<const core::Tables> old = first;
  TablePublisher publisher(1, {std::move(first), snapshot(1), snapshot(1)});
  const std::vector<TablePublisher::Publication> publications = {{0, snapshot(2)},
                                                                 {2, snapshot(5)}};
  publisher.publish(publications);
  EXPECT_EQ(publisher.current(0).tables, publications[0].tables);
  EXPECT_EQ(publisher.current(0).number, 2U);
  EXPECT_EQ(publisher.current(1).tables->version(), 1U);
  EXPECT_EQ(publisher.current(1).number, 1U);
  EXPECT_EQ(publisher.current(2).tables, publications[1].tables);
  EXPECT_TRUE(old.expired());
}

TEST_P(ControlTest, publish_frees_old_snapshots_and_loses_no_frame_under_traffic) {
  Fabric fabric(options());
  std::weak_ptr<const core::Tables> first;
  {
    auto tables = star_tables(4, 2);
    first = tables;
    fabric.workers().publish(0, std::move(tables));
  }
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> published{0};
  std::thread control([&] {
    while (!stop.load()) {
      fabric.workers().publish(0, star_tables(4, 3 + published++));
    }
  });
  for (std::uint32_t i = 0; i < 200 || published < 200; ++i) {
    fabric.arm(i % 1000);
    if (HasFailure()) {
      break;
    }
  }
  stop = true;
  control.join();
  EXPECT_TRUE(eventually([&] { return first.expired(); }));
}

TEST_P(ControlTest, removing_a_tree_sends_what_it_held) {
  Fabric fabric(options());
  fabric.arm(6);
  fabric.host(1).send(contribution(6, 11));
  ASSERT_TRUE(eventually([&] {
    return fabric.sum([](const core::Counters& c) { return c.engines[0].contributions.read(); }) ==
           1;
  }));
  core::TablesBuilder empty;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(empty.add_port({}), "");
  }
  fabric.workers().publish(0, empty.build(2));
  const auto result = fabric.root().expect_reduction();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->word.count, 1U);
}

TEST_P(ControlTest, descriptors_can_be_visited_while_frames_flow) {
  Fabric fabric(options());
  fabric.arm(8);
  fabric.host(2).send(contribution(8, 5));
  std::size_t seen = 0;
  EXPECT_TRUE(eventually([&] {
    seen = 0;
    ContributionCount count = 0;
    fabric.workers().for_each_descriptor(0, [&](const core::DescriptorView& d) {
      ++seen;
      count = d.count;
      EXPECT_EQ(d.key.tree(), tree);
      EXPECT_EQ(d.port, PortNumber{0});
    });
    return seen == 1 && count == 1;
  }));
}

TEST_P(ControlTest, trace_lists_what_happened_in_order) {
  Fabric fabric(options());
  fabric.workers().set_tracing(core::Tracing::everything);
  fabric.arm(3); // which is complete when this returns, and so is the workers' check

  for (std::size_t leaf = 1; leaf < 4; ++leaf) {
    fabric.host(leaf).send(contribution(3, leaf));
    if (leaf < 3) {
      ASSERT_TRUE(eventually([&] {
        return fabric.sum([](const core::Counters& c) {
          return c.engines[0].contributions.read();
        }) == leaf;
      }));
    }
  }
  ASSERT_TRUE(fabric.root().expect_reduction().has_value());
  const std::vector<TraceEvent> events = fabric.workers().trace();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].event, core::Event::armed);
  EXPECT_EQ(events[0].action, core::Action::replicate);
  EXPECT_EQ(events[0].port, PortNumber{0});
  EXPECT_EQ(events[0].out_ports, PortSet(0b1110));
  EXPECT_TRUE(events[0].word.arm);
  EXPECT_EQ(events[1].event, core::Event::contributed);
  EXPECT_EQ(events[1].port, PortNumber{1});
  EXPECT_EQ(events[1].word.count, 1U);
  EXPECT_EQ(events[2].event, core::Event::contributed);
  EXPECT_EQ(events[3].event, core::Event::completed_full);
  EXPECT_EQ(events[3].out, PortNumber{0});
  EXPECT_EQ(events[3].word.count, 3U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_TRUE(events[i].multicast);
    EXPECT_EQ(events[i].key.tree(), tree);
    EXPECT_EQ(events[i].switch_index, 0);
    EXPECT_TRUE(i == 0 || events[i - 1].time <= events[i].time);
  }
}

TEST_P(ControlTest, trace_leaves_out_contributions_unless_it_is_asked_for_everything) {
  Fabric fabric(options());
  fabric.arm(3);
  for (std::size_t leaf = 1; leaf < 4; ++leaf) {
    fabric.host(leaf).send(contribution(3, leaf));
  }
  ASSERT_TRUE(fabric.root().expect_reduction().has_value());
  const std::vector<TraceEvent> events = fabric.workers().trace();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].event, core::Event::armed);
  EXPECT_EQ(events[1].event, core::Event::completed_full);
  EXPECT_EQ(events[1].word.count, 3U);
}

TEST_P(ControlTest, trace_can_be_switched_off) {
  Fabric fabric(options());
  fabric.workers().set_tracing(core::Tracing::off);
  // The switch checks once per iteration.
  const std::uint64_t before = fabric.workers().statistics(0).iterations.read();
  ASSERT_TRUE(
      eventually([&] { return fabric.workers().statistics(0).iterations.read() > before + 2; }));
  fabric.arm(3);
  EXPECT_TRUE(fabric.workers().trace().empty());
  EXPECT_EQ(fabric.workers().tracing(), core::Tracing::off);
}

TEST_P(ControlTest, trace_read_under_traffic_never_shows_a_torn_event) {
  Fabric fabric(options());
  std::atomic<bool> stop{false};
  std::thread traffic([&] {
    for (std::uint32_t i = 0; !stop.load(); ++i) {
      // Port and count agree, so that an event made of two different ones would show.
      const auto leaf = 1 + i % 3;
      auto frame = contribution(0, 0, TreeNumber{static_cast<std::uint16_t>(100 * leaf)});
      frame.word.count = 1000 * leaf;
      fabric.host(leaf).send(frame);
    }
  });
  std::size_t seen = 0;
  std::size_t wrong = 0;
  const bool enough = eventually([&] {
    for (const TraceEvent& e : fabric.workers().trace()) {
      ++seen;
      wrong += e.word.count != 1000U * e.port.value || e.key.tree().value != 100U * e.port.value ||
               e.reason != core::DropReason::unknown_tree;
    }
    return seen > 20'000;
  });
  stop = true;
  traffic.join();
  EXPECT_TRUE(enough);
  EXPECT_EQ(wrong, 0U);
}

TEST_P(ControlTest, capture_sees_frames_of_one_tree_both_ways_and_no_others) {
  Fabric fabric(options());
  auto capture = fabric.workers().start_capture({.tree = tree}, {.frames = 64, .frame_bytes = 128});
  EXPECT_THROW(std::ignore = fabric.workers().start_capture({}), port::PortError);
  fabric.host(1).send(contribution(0, 1, TreeNumber{55}));
  ASSERT_TRUE(eventually([&] { return fabric.drops(1, core::DropReason::unknown_tree) == 1; }));
  fabric.arm(4);
  const Frame sent = bytes_of(arm_frame(4));
  std::multiset<std::pair<int, int>> seen; // direction, port
  ASSERT_TRUE(eventually([&] {
    capture->drain([&](const CapturedFrame& f) {
      EXPECT_EQ(Frame(f.bytes.begin(), f.bytes.end()), sent);
      EXPECT_EQ(f.original_length, sent.size());
      seen.emplace(static_cast<int>(f.direction), f.port.value);
    });
    return seen.size() == 4;
  }));
  EXPECT_EQ(seen, (std::multiset<std::pair<int, int>>{{0, 0}, {1, 1}, {1, 2}, {1, 3}}));
  EXPECT_EQ(capture->missed(), 0U);
  capture.reset();
  fabric.arm(5);
  EXPECT_NO_THROW(std::ignore = fabric.workers().start_capture({}));
}

TEST_P(ControlTest, capture_of_drops_has_what_came_in_and_went_no_further) {
  Fabric fabric(options());
  const auto capture = fabric.workers().start_capture({.drops = true});
  const Frame dropped = bytes_of(contribution(0, 1, TreeNumber{55}));
  fabric.arm(4);
  fabric.host(1).send(contribution(0, 1, TreeNumber{55}));
  std::vector<Frame> seen;
  ASSERT_TRUE(eventually([&] {
    capture->drain([&](const CapturedFrame& f) {
      EXPECT_EQ(f.direction, Direction::received);
      EXPECT_EQ(f.port, PortNumber{1});
      seen.emplace_back(f.bytes.begin(), f.bytes.end());
    });
    return !seen.empty();
  }));
  EXPECT_EQ(seen, std::vector<Frame>{dropped});
}

TEST(CaptureTap, takes_what_its_filter_asks_for_by_kind_vni_cookie_and_tree) {
  const Frame reduction = bytes_of(contribution(0, 1));
  const std::byte* const packet = reduction.data() + wire::ethernet_header_bytes;
  const Vni vni = wire::vni_of(packet);
  const Cookie cookie = wire::cookie_of(packet);
  Frame rdma = reduction;
  rdma[wire::ethernet_header_bytes + wire::portals_offset::command] = std::byte{wire::rdma_command};
  const auto taken = [](const CaptureFilter& filter, const Frame& frame) {
    CaptureTap tap(filter, {.frames = 4});
    const auto length = static_cast<std::uint32_t>(frame.size());
    tap.offer(TimeNs{0}, 0, PortNumber{1}, Direction::received, frame.data(), length, length);
    return tap.drain([](const CapturedFrame&) {}) == 1;
  };
  EXPECT_TRUE(taken({.kind = wire::FrameKind::reduction}, reduction));
  EXPECT_FALSE(taken({.kind = wire::FrameKind::wide}, reduction));
  EXPECT_TRUE(taken({.kind = wire::FrameKind::rdma}, rdma));
  EXPECT_TRUE(taken({.vni = vni}, reduction));
  EXPECT_TRUE(taken({.vni = vni}, rdma));
  EXPECT_FALSE(taken({.vni = Vni{static_cast<std::uint16_t>(vni.value + 1)}}, reduction));
  EXPECT_TRUE(taken({.cookie = cookie}, reduction));
  EXPECT_FALSE(taken({.cookie = Cookie{cookie.value + 1}}, reduction));
  EXPECT_FALSE(taken({.cookie = cookie}, rdma)) << "those have none";
  EXPECT_TRUE(taken({.tree = tree}, reduction));
  Frame shared(wire::shared_header_bytes + 104);
  const wire::SharedFrame chunk{
      .vni = vni, .source_nid = {}, .tree = tree, .cookie = cookie, .bytes = 100};
  wire::encode_header(chunk, std::span(shared).first<wire::shared_header_bytes>());
  EXPECT_TRUE(taken({.tree = tree, .kind = wire::FrameKind::shared, .cookie = cookie}, shared));
  EXPECT_FALSE(taken({.kind = wire::FrameKind::wide}, shared));
  EXPECT_FALSE(taken({.cookie = Cookie{cookie.value + 1}}, shared));
  Frame tagged = reduction;
  const std::array tag = {std::byte{0x81}, std::byte{0}, std::byte{0x60}, std::byte{7}};
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  EXPECT_TRUE(taken({.kind = wire::FrameKind::reduction, .cookie = cookie}, tagged));
  for (std::size_t length = 0; length < reduction.size(); ++length) {
    const Frame cut(reduction.begin(), reduction.begin() + static_cast<std::ptrdiff_t>(length));
    static_cast<void>(
        taken({.tree = tree, .kind = wire::FrameKind::reduction, .cookie = cookie}, cut));
  }
  EXPECT_FALSE(taken({.vni = vni}, Frame(13)));
}

TEST_P(ControlTest, capture_counts_what_does_not_fit_and_holds_no_frame_up) {
  Fabric fabric(options());
  const auto capture = fabric.workers().start_capture(
      {.port = PortNumber{0}, .direction = Direction::received}, {.frames = 8});
  for (std::uint32_t i = 0; i < 20; ++i) {
    fabric.arm(i);
  }
  EXPECT_EQ(capture->missed(), 12U);
  EXPECT_EQ(capture->drain([](const CapturedFrame&) {}), 8U);
}

TEST(Mailbox, runs_a_task_on_the_worker_and_passes_its_exception_on) {
  Mailbox mailbox;
  std::thread::id ran_on;
  mailbox.call([&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id()) << "no client has opened it yet";

  std::atomic<bool> stop{false};
  std::atomic<bool> opened{false};
  std::thread worker([&] {
    mailbox.open();
    opened = true;
    while (!stop.load()) {
      mailbox.poll();
    }
    mailbox.close();
  });
  ASSERT_TRUE(eventually([&] { return opened.load(); }));
  const std::thread::id worker_id = worker.get_id();
  mailbox.call([&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, worker_id);
  EXPECT_THROW(mailbox.call([] { throw port::PortError("no"); }), port::PortError);
  stop = true;
  worker.join();
  mailbox.call([&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id()) << "the worker has closed it";
}

TEST(Mailbox, calls_from_many_threads_all_run_while_the_worker_ends) {
  Mailbox mailbox;
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    mailbox.open();
    while (!stop.load()) {
      mailbox.poll();
    }
    mailbox.close();
  });
  std::uint64_t ran = 0; // only accessed inside calls
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        mailbox.call([&] { ++ran; });
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  for (auto& caller : callers) {
    caller.join();
  }
  worker.join();
  EXPECT_EQ(ran, 600U);
}

} // namespace
} // namespace tributary::worker::test
