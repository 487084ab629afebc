// Hellos go to the agent, and nowhere else.

#include "tests/unit/dataplane/core/test_switch.hpp"

#include "dataplane/core/explain.hpp"
#include "tributary/wire/hello.hpp"
#include "tributary/wire/link_hello.hpp"

namespace tributary::core::test {
namespace {

wire::Hello host_hello(Nid nid) {
  return {.kind = wire::HelloKind::host,
          .guid = 0,
          .port = PortNumber{0},
          .nid = nid,
          .interval_ms = 1000,
          .name = "h",
          .port_name = {}};
}
wire::Hello switch_hello() {
  return {.kind = wire::HelloKind::switch_port,
          .guid = 5,
          .port = PortNumber{3},
          .nid = {},
          .interval_ms = 1000,
          .name = "spine0",
          .port_name = "d3"};
}

void expect_delivered(const Decision& d) {
  EXPECT_EQ(d.action, Action::deliver) << name_of(d.action) << ' ' << name_of(d.reason);
  EXPECT_EQ(d.event, Event::hello) << name_of(d.event);
  EXPECT_TRUE(d.ports.empty());
  EXPECT_EQ(d.port, no_port);
}

TEST(HelloFrame, is_delivered_from_every_port_and_not_changed) {
  TestSwitch s;
  for (std::uint8_t port = 0; port < port_count; ++port) {
    for (const wire::Hello& hello : {host_hello(Nid{1}), switch_hello()}) {
      Frame frame(wire::encode(hello));
      const Frame before = frame;
      expect_delivered(s.give(PortNumber{port}, frame));
      EXPECT_EQ(frame, before);
    }
  }
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST(HelloFrame, is_not_routed_where_its_nid_has_a_route) {
  TestSwitch s;
  expect_delivered(s.give(child, Frame(wire::encode(host_hello(routed_nid)))));
}

TEST(HelloFrame, is_processed_by_the_worker_of_the_port_it_came_in_on) {
  TestSwitch s;
  Frame frame(wire::encode(switch_hello()));
  EXPECT_EQ(s.core.engine_port(child, frame.view()), child);
}

TEST(HelloFrame, of_a_link_is_dropped_where_a_guard_says_that_a_host_is_there) {
  TestSwitch s;
  TablesBuilder b({}, *standard_tables().build(1));
  b.set_guard(child, Nid{5});
  s.adopt(std::move(b));
  const auto bytes =
      wire::encode(wire::LinkHello{.sender = {5, PortNumber{3}}, .interval_ms = 10, .heard = {}});
  const Frame link_hello(std::vector<std::byte>(bytes.begin(), bytes.end()));
  expect_delivered(s.give(other_child, Frame(link_hello)));
  expect_dropped(s, s.give(child, Frame(link_hello)), child, DropReason::link_hello_from_host);
  // One that cannot be read is reported as such, and the manager is notified of a switch at a
  // host's port.
  Frame broken(link_hello);
  broken.set(10, 0xFF);
  EXPECT_EQ(s.give(child, broken).reason, DropReason::bad_hello);
  expect_delivered(s.give(child, Frame(wire::encode(switch_hello()))));
}

TEST(HelloFrame, is_heard_where_a_guard_or_a_permission_list_refuses_everything_else) {
  TestSwitch s;
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({.nid = Nid{9}, .vnis = std::make_shared<VniSet>()}), "");
  s.adopt(std::move(builder));
  expect_delivered(s.give(PortNumber{0}, Frame(wire::encode(host_hello(Nid{8})))));
}

TEST(HelloFrame, that_is_damaged_is_dropped_as_bad_hello) {
  Frame frame(wire::encode(switch_hello()));
  frame.set(wire::hello_offset::guid, 0xAA);
  TestSwitch s;
  expect_dropped(s, s.give(child, frame), child, DropReason::bad_hello);
}

TEST(HelloFrame, of_a_later_version_is_dropped_as_bad_hello) {
  Frame frame(wire::encode(switch_hello()));
  frame.set(wire::hello_offset::version, 2);
  TestSwitch s;
  expect_dropped(s, s.give(child, frame), child, DropReason::bad_hello);
}

TEST(HelloFrame, cut_short_is_a_runt_or_a_bad_hello) {
  const Frame whole(wire::encode(host_hello(Nid{1})));
  for (std::size_t length = 0; length < wire::ethernet_header_bytes + wire::hello_header_bytes + 1;
       ++length) {
    Frame frame = whole;
    frame.resize(length);
    TestSwitch s;
    expect_dropped(s, s.give(child, frame), child,
                   length < shortest_frame_bytes ? DropReason::runt : DropReason::bad_hello);
  }
}

TEST(HelloFrame, of_another_ethertype_is_foreign) {
  TestSwitch s;
  expect_dropped(s, s.give(child, Frame(wire::encode(switch_hello(), 0x88B6))), child,
                 DropReason::foreign_ethertype);
}

TEST(LldpFrame, is_delivered_where_the_port_takes_it_and_foreign_elsewhere) {
  Frame frame(wire::encode(switch_hello(), wire::lldp_ethertype));
  TestSwitch s;
  expect_dropped(s, s.give(child, frame), child, DropReason::foreign_ethertype);
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({.nid = Nid{9}, .vnis = std::make_shared<VniSet>(), .lldp = true}),
            "");
  s.adopt(std::move(builder));
  const Decision d = s.give(PortNumber{0}, frame);
  EXPECT_EQ(d.action, Action::deliver);
  EXPECT_EQ(d.event, Event::lldp);
  EXPECT_EQ(s.core.engine_port(PortNumber{0}, frame.view()), PortNumber{0});
  EXPECT_EQ(explain(s.core, PortNumber{0}, frame.view()).steps.back(),
            "delivered to the switch's LLDP station: such frames are never forwarded");
}

TEST(HelloFrame, among_contributions_of_a_burst_goes_its_own_way) {
  TestSwitch s;
  s.give(parent, arm(1));
  Frame first(contribution(1, Nid{1}));
  Frame hello(wire::encode(switch_hello()));
  Frame second(contribution(1, Nid{2}));
  const std::array<FrameView, 3> views = {first.view(), hello.view(), second.view()};
  std::array<Decision, 3> decisions;
  s.core.process_burst(child, views, s.now, decisions);
  expect_absorbed(decisions[0]);
  expect_delivered(decisions[1]);
  expect_absorbed(decisions[2]);
}

TEST(HelloFrame, is_explained) {
  TestSwitch s;
  Frame frame(wire::encode(switch_hello()));
  Explanation good = explain(s.core, child, frame.view());
  EXPECT_EQ(good.decision.action, Action::deliver);
  EXPECT_EQ(good.steps[2], "a hello of switch \"spine0\", guid 0x0000000000000005, port 3 \"d3\", "
                           "each 1000 ms");
  EXPECT_EQ(good.steps.back(), "delivered to the switch's agent: such frames are never forwarded");
  Frame host(wire::encode(host_hello(Nid{77})));
  EXPECT_EQ(explain(s.core, child, host.view()).steps[2],
            "a hello of host \"h\", NID 77, each 1000 ms");
  frame.set(wire::hello_offset::kind, 9);
  const Explanation bad = explain(s.core, child, frame.view());
  EXPECT_EQ(bad.decision.action, Action::drop);
  EXPECT_EQ(bad.decision.reason, DropReason::bad_hello);
  EXPECT_EQ(bad.steps[2], "a hello that cannot be read: wrong_checksum");
}

} // namespace
} // namespace tributary::core::test
