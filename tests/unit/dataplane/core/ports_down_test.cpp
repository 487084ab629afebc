// Egress through a port that is down: frames are dropped with a reason, and the rest is not
// affected.

#include "dataplane/core/explain.hpp"
#include "tests/unit/dataplane/core/test_switch.hpp"

namespace tributary::core::test {
namespace {

/// `explain` must predict the decision.
Decision give_as_explained(TestSwitch& s, PortNumber in, Frame f) {
  const Explanation predicted = explain(s.core, in, f.view());
  const Decision d = s.give(in, f);
  EXPECT_EQ(predicted.decision.action, d.action) << predicted.steps.back();
  EXPECT_EQ(predicted.decision.reason, d.reason) << predicted.steps.back();
  EXPECT_EQ(predicted.decision.ports, d.ports) << predicted.steps.back();
  EXPECT_EQ(predicted.decision.length, d.length) << predicted.steps.back();
  return d;
}

Frame unicast_to(Nid nid) {
  wire::ReductionFrame f = contribution(1);
  Frame frame(f);
  wire::store_be<std::uint32_t>(frame.portals() + wire::portals_offset::dfa,
                                wire::FabricAddress::unicast(nid).value);
  frame.fix_checksum();
  return frame;
}

TEST(PortsDown, all_are_up_until_reported_otherwise) {
  TestSwitch s;
  EXPECT_EQ(s.core.ports_up(), PortSet::first(max_ports));
}

TEST(PortsDown, a_routed_frame_is_dropped_and_counted_where_it_would_have_left) {
  TestSwitch s;
  s.core.port_changed(routed, false);
  expect_dropped(s, give_as_explained(s, child, unicast_to(routed_nid)), routed,
                 DropReason::port_down);
  s.core.port_changed(routed, true);
  expect_forwarded(give_as_explained(s, child, unicast_to(routed_nid)), routed, Event::unicast);
}

TEST(PortsDown, copies_go_to_the_ports_that_are_left) {
  TestSwitch s;
  s.core.port_changed(other_child, false);
  const PortSet left(children.bits() & ~PortSet(1U << other_child.value).bits());
  expect_replicated(give_as_explained(s, parent, Frame(arm(7))), left, Event::armed);
  EXPECT_EQ(s.drops(other_child, DropReason::port_down), 1U);
  EXPECT_EQ(s.all_drops(), 1U);
}

TEST(PortsDown, no_copy_at_all_when_none_is_left) {
  TestSwitch s;
  children.for_each([&](PortNumber port) { s.core.port_changed(port, false); });
  expect_replicated(give_as_explained(s, parent, Frame(arm(7))), PortSet{}, Event::armed);
  EXPECT_EQ(s.all_drops(), 3U);
}

TEST(PortsDown, contributions_are_still_taken_in) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.core.port_changed(parent, false);
  expect_absorbed(give_as_explained(s, child, Frame(contribution(7))));
}

TEST(PortsDown, a_result_that_cannot_leave_is_dropped_and_its_reduction_is_over) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.core.port_changed(parent, false);
  auto all = contribution(7);
  all.word.count = wait_count;
  expect_dropped(s, give_as_explained(s, child, Frame(all)), parent, DropReason::port_down);
  EXPECT_TRUE(s.descriptors().empty());
}

TEST(PortsDown, what_passes_through_is_dropped) {
  TestSwitch s;
  s.core.port_changed(parent, false);
  expect_dropped(s, give_as_explained(s, child, Frame(contribution(7))), parent,
                 DropReason::port_down);
}

TEST(PortsDown, a_partial_result_that_cannot_leave_is_dropped_once) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  s.core.port_changed(parent, false);
  s.pass(std::uint64_t{1} << 40);
  s.pass(std::uint64_t{1} << 40);
  EXPECT_TRUE(s.emitted.empty());
  EXPECT_TRUE(s.descriptors().empty());
  EXPECT_EQ(s.drops(parent, DropReason::port_down), 1U);
  EXPECT_EQ(s.of(tree).partial.read(), 0U);
}

TEST(TrafficClass, goes_with_the_frame) {
  TestSwitch s;
  const auto in_class = [](Frame& f) {
    FrameView view = f.view();
    view.traffic_class = 5;
    return view;
  };
  Frame down(arm(7));
  EXPECT_EQ(s.core.process(parent, in_class(down), s.now).traffic_class, 5);
  Frame across = unicast_to(routed_nid);
  EXPECT_EQ(s.core.process(child, in_class(across), s.now).traffic_class, 5);
  auto all = contribution(7);
  all.word.count = wait_count;
  Frame last(all);
  const Decision result = s.core.process(child, in_class(last), s.now);
  EXPECT_EQ(result.action, Action::emit);
  EXPECT_EQ(result.traffic_class, 5);
  EXPECT_EQ(result.length, wire::reduction_frame_bytes);
}

} // namespace
} // namespace tributary::core::test
