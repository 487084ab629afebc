// Link hellos: answered by the worker of the port, and the consequences of their end.
#include "tests/unit/dataplane/worker/fabric.hpp"

#include "tributary/wire/hello.hpp"
#include "tributary/wire/link_hello.hpp"

#include <chrono>
#include <thread>

#include <poll.h>

namespace tributary::worker::test {
namespace {

constexpr PortNumber port{2};
constexpr wire::LinkEnd neighbour{0xBEEF, PortNumber{9}};

Frame hello(bool leaves = false) {
  return wire::encode({.kind = wire::HelloKind::switch_port,
                       .guid = neighbour.guid,
                       .port = neighbour.port,
                       .nid = {},
                       .interval_ms = static_cast<std::uint16_t>(leaves ? 0 : 1000),
                       .link_hellos = true,
                       .name = "n",
                       .port_name = {}});
}

/// One that is valid for longer than any test waits by default.
Frame link_hello(bool hears, std::uint16_t interval_ms = 60'000) {
  wire::LinkHello out{.sender = neighbour, .interval_ms = interval_ms, .heard = {}};
  if (hears) {
    out.heard = {switch_guid, port};
  }
  const auto frame = wire::encode(out);
  return {frame.begin(), frame.end()};
}

class LinkTest : public ::testing::TestWithParam<std::uint32_t> {
protected:
  explicit LinkTest(std::uint64_t idle_interval_ns = ns_per_second)
      : fabric_(options(idle_interval_ns)) {}

  static Options options(std::uint64_t idle_interval_ns) {
    Options o;
    o.workers = GetParam();
    o.links = {.interval_ns = 5 * ns_per_ms, .idle_interval_ns = idle_interval_ns};
    return o;
  }

  [[nodiscard]] std::optional<wire::LinkHello> next_link_hello() {
    std::optional<wire::LinkHello> found;
    eventually([&] {
      wire::LinkHello one;
      if (const auto frame = fabric_.host(port.value).receive();
          frame && wire::decode(*frame, wire::default_ethertype, one) == wire::HelloError::none) {
        found = one;
      }
      return found.has_value();
    });
    return found;
  }
  /// The next link event of the control thread.
  [[nodiscard]] std::optional<LinkEvent> next_event() {
    std::optional<LinkEvent> found;
    eventually([&] {
      fabric_.workers().take_link_events([&](const LinkEvent& event) { found = event; });
      return found.has_value();
    });
    return found;
  }
  [[nodiscard]] liveness::State state() { return fabric_.workers().link_status(0, port)->state; }
  void bring_up() {
    fabric_.host(port.value).send(hello());
    ASSERT_TRUE(next_link_hello().has_value());
    fabric_.host(port.value).send(link_hello(true));
    ASSERT_TRUE(eventually([&] { return state() == liveness::State::up; }));
  }

  Fabric fabric_;
};
INSTANTIATE_TEST_SUITE_P(Workers, LinkTest, ::testing::Values(1U, 2U),
                         [](const auto& test) { return "workers" + std::to_string(test.param); });

TEST_P(LinkTest, a_neighbour_that_sends_link_hellos_gets_them_and_says_whom_it_hears) {
  fabric_.host(port.value).send(hello());
  const auto first = next_link_hello();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->sender, (wire::LinkEnd{switch_guid, port}));
  EXPECT_FALSE(first->heard.has_value());
  fabric_.host(port.value).send(link_hello(false));
  EXPECT_TRUE(eventually([&] {
    const auto one = next_link_hello();
    return one && one->heard == neighbour;
  }));
}

TEST_P(LinkTest, hosts_and_who_says_nothing_get_no_link_hellos) {
  fabric_.host(1).send(wire::encode({.kind = wire::HelloKind::host,
                                     .guid = 0,
                                     .port = PortNumber{0},
                                     .nid = Nid{5},
                                     .interval_ms = 1000,
                                     .name = "h",
                                     .port_name = {}}));
  bring_up();
  ASSERT_TRUE(next_link_hello().has_value()); // those of the other port continued meanwhile
  EXPECT_EQ(fabric_.host(1).receive_all(), 0U);
  EXPECT_EQ(fabric_.host(3).receive_all(), 0U);
}

TEST_P(LinkTest, a_link_hello_is_neither_delivered_nor_traced) {
  bring_up();
  std::size_t delivered = 0;
  fabric_.workers().take_delivered([&](const ControlFrame& frame) {
    wire::Hello one;
    EXPECT_EQ(wire::decode(frame.view(), wire::default_ethertype, one), wire::HelloError::none);
    ++delivered;
  });
  EXPECT_EQ(delivered, 1U);
  EXPECT_EQ(fabric_.workers().trace().size(), 1U); // the hello
}

TEST_P(LinkTest, a_silent_neighbour_takes_the_port_out_of_the_core_and_wakes_the_control_thread) {
  bring_up();
  fabric_.workers().wake_up().accept();
  fabric_.host(port.value).send(link_hello(true, 5)); // the next one never arrives
  pollfd woken{.fd = fabric_.workers().wake_up().descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&woken, 1, 10'000), 1);
  const auto event = next_event();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->switch_index, 0U);
  EXPECT_EQ(event->change.port, port);
  EXPECT_FALSE(event->change.usable);
  EXPECT_EQ(event->change.reason, liveness::Reason::silent);
  EXPECT_GE(event->change.after_ns, 15 * ns_per_ms);
  EXPECT_TRUE(fabric_.workers().link_failed(0, port));
  for (std::size_t owner = 0; owner < fabric_.workers().worker_count(); ++owner) {
    EXPECT_TRUE(eventually([&] {
      bool up = true;
      fabric_.workers().with_core(
          0, owner, [&](const core::SwitchCore& core) { up = core.ports_up().contains(port); });
      return !up;
    }));
  }
}

TEST_P(LinkTest, a_neighbour_that_does_not_hear_takes_it_down_and_three_good_hellos_bring_it_back) {
  bring_up();
  fabric_.host(port.value).send(link_hello(false));
  auto event = next_event();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->change.reason, liveness::Reason::one_way);
  for (int i = 0; i < 2; ++i) {
    fabric_.host(port.value).send(link_hello(true));
  }
  EXPECT_TRUE(
      eventually([&] { return fabric_.workers().link_status(0, port)->hellos_heard == 4; }));
  EXPECT_TRUE(fabric_.workers().link_failed(0, port));
  fabric_.host(port.value).send(link_hello(true));
  event = next_event();
  ASSERT_TRUE(event.has_value());
  EXPECT_TRUE(event->change.usable);
  EXPECT_FALSE(fabric_.workers().link_failed(0, port));
}

/// The tables of the fabric, where the port is one of NID 5.
std::shared_ptr<const core::Tables> with_a_host_at_the_port(std::uint64_t version) {
  const auto before = star_tables(4);
  core::TablesBuilder builder({}, *before);
  builder.set_guard(port, Nid{5});
  return builder.build(version);
}

/// A port that has a source guard is a host's. No frame of the host may take it down.
class HostPortTest : public LinkTest {
protected:
  HostPortTest() : LinkTest(50 * ns_per_ms) {}
};
INSTANTIATE_TEST_SUITE_P(Workers, HostPortTest, ::testing::Values(1U, 2U),
                         [](const auto& test) { return "workers" + std::to_string(test.param); });

TEST_P(HostPortTest, link_hellos_from_a_host_are_dropped_and_take_nothing_down) {
  fabric_.workers().publish(0, with_a_host_at_the_port(2));
  fabric_.host(port.value).send(link_hello(false, 5));
  fabric_.host(port.value).send(hello());
  fabric_.host(port.value).send(link_hello(true, 5));
  EXPECT_TRUE(eventually(
      [&] { return fabric_.drops(port.value, core::DropReason::link_hello_from_host) == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100)); // twice the time that takes other
                                                               // ports down
  EXPECT_EQ(state(), liveness::State::unwatched);
  EXPECT_EQ(fabric_.workers().link_status(0, port)->times_down, 0U);
  EXPECT_EQ(fabric_.host(port.value).receive_all(), 0U) << "no link hello is sent to it";
}

TEST_P(HostPortTest, a_port_that_a_host_took_down_is_usable_once_it_is_guarded) {
  fabric_.host(port.value).send(link_hello(false, 5));
  ASSERT_TRUE(eventually([&] { return state() == liveness::State::down; }));
  fabric_.workers().publish(0, with_a_host_at_the_port(2));
  EXPECT_TRUE(eventually([&] { return state() == liveness::State::unwatched; }));
  fabric_.workers().publish(0, star_tables(4, 3)); // and may be another switch's later
  bring_up();
}

TEST_P(LinkTest, no_link_hello_follows_the_word_that_the_switch_leaves) {
  bring_up();
  fabric_.workers().leave();
  ASSERT_TRUE(fabric_.workers().send(0, PortNumber{3}, hello(true)));
  ASSERT_TRUE(eventually([&] { return fabric_.host(3).receive_all() == 1; }));
  fabric_.host(port.value).receive_all();                     // frames in flight
  std::this_thread::sleep_for(std::chrono::milliseconds(50)); // ten intervals
  EXPECT_EQ(fabric_.host(port.value).receive_all(), 0U);
}

TEST_P(LinkTest, a_port_without_a_carrier_is_reported_to_the_link) {
  bring_up();
  fabric_.workers().port_changed(0, port, false);
  EXPECT_TRUE(eventually([&] { return state() == liveness::State::down; }));
  EXPECT_EQ(fabric_.workers().link_status(0, port)->last_reason, liveness::Reason::carrier);
}

} // namespace
} // namespace tributary::worker::test
