// Results for some: a contribution may want the result for itself, and then no other member gets
// it; and arms of several reductions at once.

#include "dataplane/core/explain.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"
#include "tributary/wire/arm_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tributary::core::test {
namespace {

constexpr Nid root{1};

wire::ReductionFrame wanting(wire::ReductionFrame f) {
  f.word.pad |= wire::pad_wanted;
  return f;
}
/// A result from above, as a switch next to a root sends it.
wire::ReductionFrame result(std::uint32_t seqno) {
  wire::ReductionFrame f = wanting(contribution(seqno, Nid{11}));
  f.word.count = 4;
  return f;
}
/// An arm of reductions `first` and more, by their bits.
wire::ReductionFrame arm_of(std::uint32_t seqno, ReductionId first, std::uint64_t ids) {
  wire::ReductionFrame f = arm(seqno);
  f.reduction = first;
  f.word.op = wire::arm_set_opcode;
  f.word.resno = SequenceNumber{1023};
  f.payload = wire::payload_of(wire::ArmSet{.first = first.value, .of_hosts = 77, .ids = ids});
  return f;
}

class Wanted : public testing::Test {
protected:
  /// `explain` must predict the decision.
  Decision give(PortNumber in, Frame& frame) {
    const Explanation predicted = explain(s.core, in, frame.view());
    const Decision d = s.give(in, frame);
    EXPECT_EQ(predicted.decision.action, d.action) << predicted.steps.back();
    EXPECT_EQ(predicted.decision.event, d.event) << predicted.steps.back();
    EXPECT_EQ(predicted.decision.port, d.port) << predicted.steps.back();
    EXPECT_EQ(predicted.decision.length, d.length) << predicted.steps.back();
    if (is_copied(d.action)) {
      EXPECT_EQ(predicted.decision.ports, d.ports) << predicted.steps.back();
    }
    return d;
  }
  Decision give(PortNumber in, Frame&& frame) { return give(in, frame); }
  Decision give(PortNumber in, const wire::ReductionFrame& f) { return give(in, Frame(f)); }

  /// Contributions of all but the last one, the third child's.
  void contribute(std::uint32_t seqno, PortNumber who) {
    for (const PortNumber in : {child, parent, other_child}) {
      const auto f = contribution(seqno, in == parent ? root : Nid{10U + in.value});
      expect_absorbed(give(in, in == who ? wanting(f) : f));
    }
  }
  void adopt_in_switch() {
    TablesBuilder builder({}, default_wide_memory);
    for (std::size_t i = 0; i < port_count; ++i) {
      EXPECT_EQ(builder.add_port({}), "");
    }
    EXPECT_EQ(builder.add_tree(tree, wait_count, parent, children,
                               {.slots = 128, .payload_bytes = limit, .in_switch = true}),
              "");
    s.adopt(std::move(builder));
  }
  void adopt_wide() { s.adopt(wide_tables()); }
  static PortSet only(PortNumber port) {
    PortSet ports;
    ports.insert(port);
    return ports;
  }

  TestSwitch s;
};

/// Below the switch next to the root.
class WantedBelow : public Wanted {
protected:
  void reduce(std::uint32_t seqno) {
    give(parent, arm(seqno));
    wire::ReductionFrame f = contribution(seqno, Nid{11});
    expect_absorbed(give(child, f));
    expect_absorbed(give(other_child, wanting(contribution(seqno, Nid{12}))));
    f.word.count = 2;
    Frame last(f);
    expect_emitted(give(third_child, last), parent);
    EXPECT_EQ(last.decoded().word.pad, wire::pad_wanted) << "so that the switch above knows it";
  }
};

TEST_F(WantedBelow, results_go_to_who_wants_them_alone) {
  reduce(7);
  expect_replicated(give(parent, result(7)), only(other_child), Event::handed_down);
  expect_replicated(give(parent, result(7)), only(other_child), Event::handed_down);
  expect_replicated(give(parent, result(6)), children, Event::handed_down);
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST_F(WantedBelow, results_of_which_nothing_is_known_go_to_all_and_disarm_nothing) {
  give(parent, arm(8));
  expect_absorbed(give(child, contribution(8, Nid{11})));
  expect_replicated(give(parent, result(8)), children, Event::handed_down);
  ASSERT_EQ(s.descriptors().size(), 1U);
  EXPECT_TRUE(s.descriptors()[0].have_data);
  EXPECT_EQ(s.engine().disarms.read(), 0U);
}

TEST_F(WantedBelow, wishes_of_an_earlier_reduction_are_forgotten) {
  reduce(7);
  give(parent, arm(8));
  expect_absorbed(give(child, contribution(8, Nid{11})));
  expect_replicated(give(parent, result(7)), children, Event::handed_down);
  // As long after that as it takes for the number to return, without any contribution.
  reduce(7);
  give(parent, arm(7));
  expect_absorbed(give(child, contribution(7, Nid{11})));
  expect_replicated(give(parent, result(7)), children, Event::handed_down);
}

TEST_F(WantedBelow, a_tree_with_other_ports_forgets_them) {
  reduce(7);
  TablesBuilder builder = standard_tables();
  builder.remove_tree(tree);
  EXPECT_EQ(builder.add_tree(tree, wait_count, parent, PortSet{0b11110}), "");
  s.adopt(std::move(builder));
  expect_replicated(give(parent, result(7)), PortSet{0b11110}, Event::handed_down);
}

TEST_F(WantedBelow, several_may_want_one) {
  give(parent, arm(7));
  for (const PortNumber in : {child, other_child}) {
    expect_absorbed(give(in, wanting(contribution(7, Nid{10U + in.value}))));
  }
  wire::ReductionFrame two = contribution(7, Nid{13});
  two.word.count = 2;
  expect_emitted(give(third_child, two), parent);
  PortSet both = only(child);
  both.insert(other_child);
  expect_replicated(give(parent, result(7)), both, Event::handed_down);
  s.core.port_changed(child, false);
  expect_replicated(give(parent, result(7)), only(other_child), Event::handed_down);
  EXPECT_EQ(s.drops(child, DropReason::port_down), 1U);
}

TEST_F(WantedBelow, partial_results_say_so) {
  give(parent, arm(7));
  expect_absorbed(give(child, wanting(contribution(7, Nid{11}))));
  s.pass(30'000'000'000);
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].frame.decoded().word.pad, wire::pad_wanted);
  expect_replicated(give(parent, result(7)), only(child), Event::handed_down);
}

TEST_F(WantedBelow, reports_say_so) {
  give(parent, arm(7));
  expect_absorbed(give(child, contribution(7, Nid{11})));
  wire::ReductionFrame other = wanting(contribution(7, Nid{12}));
  other.word.op = static_cast<std::uint8_t>(wire::Opcode::bit_xor);
  other.word.count = 3;
  Frame last(other);
  expect_emitted(give(other_child, last), parent);
  EXPECT_EQ(last.decoded().word.rc, 8U);
  EXPECT_EQ(last.decoded().word.pad, wire::pad_wanted);
}

TEST_F(WantedBelow, vectors_are_wanted_as_well) {
  adopt_wide();
  give(parent, with_id(arm(7), high_id));
  wire::WideFrame f = wide_contribution(7, Nid{11});
  expect_absorbed(give(child, wide_frame(f)));
  f = wide_contribution(7, Nid{12});
  f.word.pad = wire::pad_wanted;
  expect_absorbed(give(other_child, wide_frame(f)));
  f = wide_contribution(7, Nid{13});
  f.word.count = 2;
  Frame last = wide_frame(f);
  expect_emitted(give(third_child, last), parent);
  EXPECT_EQ(decoded_wide(last).word.pad, wire::pad_wanted);
  f.word = decoded_wide(last).word;
  expect_replicated(give(parent, wide_frame(f)), only(other_child), Event::handed_down);
}

/// Next to a root whose tree has in-switch results.
class WantedAbove : public Wanted {
protected:
  WantedAbove() { adopt_in_switch(); }
  static void expect_directed(const Decision& d, PortNumber port) {
    EXPECT_EQ(d.action, Action::emit) << name_of(d.action) << ' ' << name_of(d.event);
    EXPECT_EQ(d.event, Event::directed) << name_of(d.event);
    EXPECT_EQ(d.port, port);
  }
};

TEST_F(WantedAbove, the_result_leaves_by_the_port_of_who_wants_it_and_frees_the_descriptor) {
  for (const PortNumber who : {child, parent, other_child}) {
    const std::uint32_t seqno = 10U + who.value;
    give(parent, arm(seqno));
    contribute(seqno, who);
    wire::ReductionFrame f = contribution(seqno, Nid{13});
    Frame last(f);
    const Decision d = give(third_child, last);
    expect_directed(d, who);
    EXPECT_EQ(d.length, wire::reduction_frame_bytes);
    wire::ReductionFrame expected = contribution(seqno, Nid{11}); // the first one's header
    expected.word.pad = wire::pad_wanted;
    expected.word.count = 4;
    expected.payload = {4, 8, 12, 16};
    EXPECT_EQ(last, Frame(expected)) << "arm 0";
    EXPECT_TRUE(s.descriptors().empty());
  }
  EXPECT_EQ(s.engine().full.read(), 3U);
  EXPECT_EQ(s.engine().in_switch.read(), 0U) << "nothing is kept";
}

TEST_F(WantedAbove, the_last_contribution_may_want_it) {
  give(parent, arm(7));
  contribute(7, no_port);
  Frame last(wanting(contribution(7, Nid{13})));
  expect_directed(give(third_child, last), third_child);
}

TEST_F(WantedAbove, the_next_reduction_is_sent_to_all_unless_somebody_wants_it) {
  give(parent, arm(7));
  contribute(7, child);
  expect_directed(give(third_child, contribution(7, Nid{13})), child);
  give(parent, arm(8));
  contribute(8, no_port);
  Frame last(contribution(8, Nid{13}));
  const Decision d = give(third_child, last);
  EXPECT_EQ(d.event, Event::completed_in_switch);
  EXPECT_EQ(last.decoded().word.pad, 0U);
}

TEST_F(WantedAbove, several_may_want_one) {
  give(parent, arm(7));
  contribute(7, child);
  Frame last(wanting(contribution(7, Nid{13})));
  const Decision d = give(third_child, last);
  EXPECT_EQ(d.action, Action::replicate_result);
  EXPECT_EQ(d.event, Event::directed);
  PortSet both = only(child);
  both.insert(third_child);
  EXPECT_EQ(d.ports, both);
  EXPECT_FALSE(last.decoded().word.arm);
  EXPECT_TRUE(s.descriptors().empty());
}

TEST_F(WantedAbove, of_a_port_that_is_down_it_is_dropped_by_name) {
  give(parent, arm(7));
  contribute(7, child);
  s.core.port_changed(child, false);
  const Decision d = give(third_child, contribution(7, Nid{13}));
  EXPECT_EQ(d.action, Action::drop);
  EXPECT_EQ(d.reason, DropReason::port_down);
  EXPECT_EQ(s.drops(child, DropReason::port_down), 1U);
  EXPECT_TRUE(s.descriptors().empty());
}

TEST_F(WantedAbove, vectors_are_wanted_as_well) {
  give(parent, with_id(arm(7), high_id));
  for (const PortNumber in : {child, parent, other_child}) {
    wire::WideFrame f = wide_contribution(7, in == parent ? root : Nid{10U + in.value});
    f.word.pad = in == other_child ? wire::pad_wanted : std::uint8_t{0};
    expect_absorbed(give(in, wide_frame(f)));
  }
  Frame last = wide_frame(wide_contribution(7, Nid{13}));
  const Decision d = give(third_child, last);
  expect_directed(d, other_child);
  EXPECT_EQ(d.length, wire::wide_header_bytes + limit);
  EXPECT_EQ(elements_of<std::uint32_t>(last)[2], 12U);
  EXPECT_EQ(decoded_wide(last).word.pad, wire::pad_wanted);
  EXPECT_TRUE(s.descriptors().empty());
}

class ArmSets : public Wanted {
protected:
  [[nodiscard]] std::vector<std::uint32_t> armed(std::uint32_t seqno) const {
    std::vector<std::uint32_t> ids;
    for (const DescriptorView& d : s.descriptors()) {
      if (d.seqno == SequenceNumber{seqno}) {
        ids.push_back(d.key.reduction().value);
      }
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
};

TEST_F(ArmSets, arm_each_reduction_of_the_set) {
  adopt_wide();
  expect_replicated(give(parent, arm_of(7, ReductionId{60}, 0x8000'0000'0000'0015)), children,
                    Event::armed_set);
  EXPECT_EQ(armed(7), (std::vector<std::uint32_t>{60, 62, 64, 123}));
  EXPECT_EQ(s.engine().arms.read(), 4U);
  // Armed ones move on, and what they hold is discarded.
  expect_absorbed(give(child, with_id(contribution(7, Nid{11}), ReductionId{62})));
  expect_replicated(give(parent, arm_of(8, ReductionId{62}, 1)), children, Event::armed_set);
  EXPECT_EQ(armed(8), (std::vector<std::uint32_t>{62}));
  EXPECT_EQ(s.engine().discarded.read(), 1U);
}

TEST_F(ArmSets, ignore_ids_that_the_tree_has_not) {
  expect_replicated(give(parent, arm_of(7, ReductionId{6}, 0xFF)), children, Event::armed_set);
  EXPECT_EQ(armed(7), (std::vector<std::uint32_t>{6, 7}));
  adopt_wide();
  expect_replicated(give(parent, arm_of(7, ReductionId{127}, ~std::uint64_t{0})), children,
                    Event::armed_set);
  EXPECT_EQ(armed(7), (std::vector<std::uint32_t>{127}));
  expect_replicated(give(parent, arm_of(8, ReductionId{3}, 0)), children, Event::armed_set);
  EXPECT_TRUE(armed(8).empty());
}

TEST_F(ArmSets, that_begin_elsewhere_are_dropped) {
  wire::ReductionFrame f = arm_of(7, ReductionId{6}, 3);
  f.payload[0] = 5;
  expect_dropped(s, give(parent, f), parent, DropReason::bad_reduction_id);
  EXPECT_TRUE(s.descriptors().empty());
}

TEST_F(ArmSets, come_from_the_parent_alone) {
  expect_dropped(s, give(child, arm_of(7, ReductionId{0}, 3)), child, DropReason::arm_from_child);
}

TEST_F(ArmSets, in_bursts_do_what_they_do_alone) {
  adopt_wide();
  std::vector<Frame> frames;
  for (std::uint32_t i = 0; i < 12; ++i) {
    frames.emplace_back(i % 3 == 1
                            ? arm_of(20 + i, ReductionId{4}, 0b1111)
                            : with_id(arm(20 + i), ReductionId{static_cast<std::uint8_t>(i % 4)}));
  }
  std::vector<FrameView> views;
  for (Frame& f : frames) {
    views.push_back(f.view());
  }
  std::vector<Decision> decisions(frames.size());
  s.core.process_burst(parent, views, s.now, decisions);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    EXPECT_EQ(decisions[i].event == Event::armed_set, i % 3 == 1) << i;
  }
  EXPECT_EQ(armed(30), (std::vector<std::uint32_t>{4, 5, 6, 7}));
}

TEST_F(ArmSets, next_to_the_root_results_bear_their_own_ids) {
  adopt_in_switch();
  const ReductionId second{65};
  give(parent, arm_of(7, ReductionId{64}, 3));
  for (const PortNumber in : {child, parent, other_child}) {
    const auto f = contribution(7, in == parent ? root : Nid{10U + in.value});
    expect_absorbed(give(in, with_id(f, second)));
  }
  Frame last(with_id(contribution(7, Nid{13}), second));
  EXPECT_EQ(give(third_child, last).event, Event::completed_in_switch);
  EXPECT_EQ(last.decoded().tree, tree);
  EXPECT_EQ(wire::dfa_of(last.portals()).slot(), second);
  EXPECT_TRUE(IngressCheck::checksum_ok(last.portals()));
  // That result is kept until the next set.
  give(parent, arm_of(9, ReductionId{64}, 3));
  wire::ReductionFrame asking = with_id(arm(10), second);
  asking.word.resno = SequenceNumber{1023};
  expect_replicated(give(parent, asking), children, Event::rearmed);
}

} // namespace
} // namespace tributary::core::test
