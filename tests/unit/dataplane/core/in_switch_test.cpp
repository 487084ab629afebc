// In-switch results: the switch next to the root adds the root's contribution, and sends the result
// to all members.

#include "dataplane/core/explain.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tributary::core::test {
namespace {

constexpr PortSet all_members{0b01111};
constexpr TreeNumber narrow_tree{0x124};
constexpr Nid root{1};

/// `tree` has wide frames, `narrow_tree` none; both wait for the root and one host behind each
/// child port.
TestSwitch in_switch_switch(const SwitchSettings& settings = {}) {
  TablesBuilder builder(settings.timers, settings.wide_memory);
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  EXPECT_EQ(builder.add_tree(tree, wait_count, parent, children,
                             {.slots = 128, .payload_bytes = limit, .in_switch = true}),
            "");
  EXPECT_EQ(builder.add_tree(narrow_tree, wait_count, parent, children, {.in_switch = true}), "");
  TestSwitch s(settings);
  s.adopt(std::move(builder));
  return s;
}

wire::ReductionFrame narrow(wire::ReductionFrame f) {
  f.tree = narrow_tree;
  return f;
}

wire::ReductionFrame of_result(wire::ReductionFrame f, std::uint32_t resno, bool retry = true) {
  f.word.resno = SequenceNumber{resno};
  f.word.pad = retry ? wire::pad_retry : 0;
  return f;
}

wire::ReductionFrame first_arm(std::uint32_t seqno) { return of_result(arm(seqno), 1023); }

/// The frame of a root that refuses a result.
wire::ReductionFrame refusal(std::uint32_t resno) { return of_result(arm(1022), resno); }

void expect_in_switch(const Decision& d, Event event = Event::completed_in_switch) {
  EXPECT_EQ(d.action, Action::replicate_result)
      << name_of(d.action) << ' ' << name_of(d.event) << ' ' << name_of(d.reason);
  EXPECT_EQ(d.event, event) << name_of(d.event);
  EXPECT_EQ(d.ports, all_members);
  EXPECT_EQ(d.port, parent) << "the root's";
}

/// All contribute to a sequence; returns the frame of the last one, the third child.
Frame reduce(TestSwitch& s, std::uint32_t seqno) {
  expect_absorbed(s.give(child, narrow(contribution(seqno, Nid{11}))));
  expect_absorbed(s.give(parent, narrow(contribution(seqno, root))));
  expect_absorbed(s.give(other_child, narrow(contribution(seqno, Nid{12}))));
  Frame last(narrow(contribution(seqno, Nid{13})));
  expect_in_switch(s.give(third_child, last));
  return last;
}

TEST(InSwitch, TheResultGoesToAllMembersAsTheRootWouldHaveSentIt) {
  TestSwitch s = in_switch_switch();
  wire::ReductionFrame armed = narrow(first_arm(7));
  armed.rank = 5;
  Frame arm_frame(armed);
  FrameView view = arm_frame.view();
  view.traffic_class = 3;
  const Decision arming = s.core.process(parent, view, s.now);
  expect_replicated(arming, children, Event::armed);

  wire::ReductionFrame f = narrow(contribution(7, Nid{11}));
  f.signature = 0x00FFFFFFFFFFFFFF;
  expect_absorbed(s.give(child, f));
  f = narrow(contribution(7, Nid{12}));
  f.signature = 2;
  expect_absorbed(s.give(other_child, f));
  f = narrow(contribution(7, Nid{13}));
  f.signature = 3;
  expect_absorbed(s.give(third_child, f));
  f = narrow(contribution(7, root));
  f.signature = 4;
  Frame last(f);
  const Decision d = s.give(parent, last);
  expect_in_switch(d);
  EXPECT_EQ(d.length, wire::reduction_frame_bytes);
  EXPECT_EQ(d.traffic_class, 3U) << "that of the arm";

  wire::ReductionFrame expected = armed;
  expected.signature = 8; // modulo 2^56
  expected.word = {.seqno = SequenceNumber{8},
                   .arm = true,
                   .op = static_cast<std::uint8_t>(wire::Opcode::int_sum),
                   .count = 4,
                   .resno = SequenceNumber{7}};
  expected.payload = {4, 8, 12, 16};
  EXPECT_EQ(last, Frame(expected)) << "checksum and all";
  EXPECT_EQ(s.engine().full.read(), 1U);
  EXPECT_EQ(s.engine().in_switch.read(), 1U);
  EXPECT_EQ(s.of(narrow_tree).full.read(), 1U);
  EXPECT_EQ(s.engine().contributions.read(), 4U);

  const auto descriptors = s.descriptors();
  ASSERT_EQ(descriptors.size(), 1U);
  EXPECT_EQ(descriptors[0].seqno, SequenceNumber{8}) << "its own result armed it";
  EXPECT_FALSE(descriptors[0].have_data);
  EXPECT_EQ(s.engine().arms.read(), 1U);
}

TEST(InSwitch, WhatRunsIsAsOldAsTheResultThatArmedItWhateverItsTimer) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  const TimeNs first = s.now;
  EXPECT_EQ(s.descriptors()[0].armed_at, first);
  const std::uint64_t timer = elapsed_ns(s.descriptors()[0].deadline, first);
  s.pass(timer / 2);
  reduce(s, 7);
  EXPECT_EQ(s.descriptors()[0].armed_at, first + timer / 2);
  EXPECT_EQ(s.descriptors()[0].deadline, first + 2 * timer) << "it is restarted once";
  s.pass(timer / 4);
  reduce(s, 8);
  EXPECT_EQ(s.descriptors()[0].armed_at, first + 3 * timer / 4);
  s.pass(timer / 4);
  EXPECT_EQ(s.descriptors()[0].armed_at, first + 3 * timer / 4) << "nothing has armed it since";
  EXPECT_EQ(s.descriptors()[0].deadline, first + 2 * timer);
}

TEST(InSwitch, ContributionsBehindOneAnotherThatEachFillACount) {
  TestSwitch s = in_switch_switch();
  std::vector<Frame> last;
  for (std::uint8_t id = 0; id < 8; ++id) {
    const auto of_id = [id](wire::ReductionFrame f) { return with_id(narrow(f), ReductionId{id}); };
    s.give(parent, of_id(first_arm(7)));
    expect_absorbed(s.give(parent, of_id(contribution(7, root))));
    expect_absorbed(s.give(child, of_id(contribution(7, Nid{11}))));
    expect_absorbed(s.give(other_child, of_id(contribution(7, Nid{12}))));
    last.emplace_back(of_id(contribution(7, Nid{13})));
  }
  std::vector<FrameView> burst;
  for (Frame& frame : last) {
    burst.push_back(frame.view());
  }
  std::vector<Decision> decisions(burst.size());
  s.core.process_burst(third_child, burst, s.now, decisions);
  for (const Decision& d : decisions) {
    expect_in_switch(d);
  }
  EXPECT_EQ(s.engine().in_switch.read(), 8U);
}

// The golden contribution of wire-format.md, 1.8, and its reduction of two: the bytes of the arm of
// NID 1 with the sum of the signatures, sequence 342 opened by the result of 341.
TEST(InSwitch, TheGoldenResult) {
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({}), "");
  ASSERT_EQ(builder.add_port({}), "");
  PortSet only;
  only.insert(child);
  ASSERT_EQ(builder.add_tree(tree, 2, parent, only, {.in_switch = true}), "");
  TestSwitch s;
  s.adopt(std::move(builder));
  const ReductionId id{5};
  s.give(parent, with_id(first_arm(0x155), id));
  wire::ReductionFrame f = with_id(contribution(0x155), id);
  f.payload = {1, std::uint64_t(-2), 3, 0x1122334455667788};
  f.signature = 0x0123456789ABCD;
  s.give(child, f);
  f.source_nid = root;
  f.signature = 1;
  f.payload = {1, 1, 1, 1};
  Frame last(f);
  EXPECT_EQ(s.give(parent, last).action, Action::replicate_result);
  const unsigned golden[] = {
      0x45, 0x20, 0x00, 0x50, 0x04, 0x00, 0x00, 0x00, 0x5a, 0x77, 0xf6, 0x9b, 0x00, 0x00,
      0x10, 0x00, 0xff, 0x94, 0x55, 0xe7, 0xcd, 0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
      0xce, 0x00, 0x31, 0x00, 0x01, 0x00, 0x00, 0x00, 0x67, 0x7d, 0xaa, 0xbc, 0x00, 0x00,
      0x2a, 0xa0, 0x00, 0x04, 0xa5, 0x56, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x04, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x89,
  };
  for (std::size_t i = 0; i < std::size(golden); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(last.portals()[i]), golden[i]) << "byte " << i;
  }
}

TEST(InSwitch, ItArmsTheNextReductionAndTheOneBehind) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(1019)));
  for (const std::uint32_t seqno : {1019U, 1020U, 1021U, 0U, 1U}) {
    const wire::ReductionFrame result = reduce(s, seqno).decoded();
    EXPECT_EQ(result.word.resno, SequenceNumber{seqno});
    EXPECT_EQ(result.word.seqno, SequenceNumber{(seqno + 1) % 1022}) << "as hosts count";
    EXPECT_EQ(result.payload, (wire::Payload{4, 8, 12, 16}));
  }
  EXPECT_EQ(s.engine().in_switch.read(), 5U);
  EXPECT_EQ(s.engine().arms.read(), 1U);
  EXPECT_EQ(s.all_drops(), 0U);
}

TEST(InSwitch, AVectorsResultHasItsLength) {
  TestSwitch s = in_switch_switch();
  Frame arm_frame(with_id(first_arm(3), high_id));
  s.give(parent, arm_frame);
  const std::vector<std::uint32_t> ones(limit / 4, 1);
  for (const auto& [port, nid] :
       {std::pair(child, 11U), std::pair(other_child, 12U), std::pair(third_child, 13U)}) {
    expect_absorbed(s.give(port, wide_frame(wide_contribution(3, Nid{nid}), ones)));
  }
  wire::WideFrame f = wide_contribution(3, root);
  f.signature = 77;
  Frame last = wide_frame(f, std::vector<std::uint32_t>(limit / 4, 10));
  const Decision d = s.give(parent, last);
  expect_in_switch(d);
  EXPECT_EQ(d.length, wire::wide_header_bytes + limit);
  const wire::WideFrame result = decoded_wide(last);
  EXPECT_EQ(result.source_nid, root);
  EXPECT_EQ(result.dscp, wire::dscp_root);
  EXPECT_EQ(result.signature, 77U);
  EXPECT_EQ(result.form, wire::Form::bits32);
  EXPECT_EQ(result.word.seqno, SequenceNumber{4});
  EXPECT_TRUE(result.word.arm);
  EXPECT_EQ(result.word.resno, SequenceNumber{3});
  EXPECT_EQ(elements_of<std::uint32_t>(last), std::vector<std::uint32_t>(limit / 4, 13));
}

TEST(InSwitch, MembersThatDoNotAgreeGetTheReport) {
  TestSwitch s = in_switch_switch();
  s.give(parent, with_id(first_arm(3), high_id));
  expect_absorbed(s.give(child, wide_frame(wide_contribution(3, Nid{11}))));
  expect_absorbed(s.give(other_child, wide_frame(wide_contribution(3, Nid{12}))));
  expect_absorbed(s.give(parent, wide_frame(wide_contribution(3, root))));
  wire::WideFrame other = wide_contribution(3, Nid{13});
  other.payload_bytes = 64;
  Frame last = wide_frame(other);
  const Decision d = s.give(third_child, last);
  expect_in_switch(d);
  EXPECT_EQ(d.length, wire::reduction_frame_bytes);
  last.resize(d.length);
  const wire::ReductionFrame report = last.decoded();
  EXPECT_EQ(report.word.rc, static_cast<unsigned>(wire::ResultCode::op_mismatch));
  EXPECT_EQ(report.word.count, 4U);
  EXPECT_EQ(report.payload[0], std::uint64_t{wire::FabricAddress::unicast(Nid{11}).value} << 32 |
                                   wire::FabricAddress::unicast(Nid{13}).value);
}

TEST(InSwitch, TheRootsContributionIsNeverCopiedDown) {
  struct Case {
    const char* name;
    std::uint32_t seqno;
    DropReason reason;
    void (*change)(wire::ReductionFrame&) = nullptr;
  };
  const Case cases[] = {
      {"newer", 8, DropReason::not_in_switch},
      {"older", 6, DropReason::stale_sequence},
      {"another group's", 7, DropReason::not_in_switch,
       [](wire::ReductionFrame& f) { f.cookie = Cookie{5}; }},
      {"of a reserved opcode", 7, DropReason::not_in_switch,
       [](wire::ReductionFrame& f) { f.word.op = 0x3F; }},
      {"for two", 7, DropReason::counts_others, [](wire::ReductionFrame& f) { f.word.count = 2; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    TestSwitch s = in_switch_switch();
    s.give(parent, narrow(first_arm(7)));
    wire::ReductionFrame f = narrow(contribution(c.seqno, root));
    if (c.change != nullptr) {
      c.change(f);
    }
    expect_dropped(s, s.give(parent, f), parent, c.reason);
  }
  TestSwitch s = in_switch_switch();
  expect_dropped(s, s.give(parent, narrow(contribution(7, root))), parent,
                 DropReason::not_in_switch);
}

TEST(InSwitch, AFullCountWithoutTheRootIsDroppedAndReplacesNothing) {
  for (const bool wide : {false, true}) {
    TablesBuilder builder;
    for (std::size_t i = 0; i < port_count; ++i) {
      EXPECT_EQ(builder.add_port({}), "");
    }
    // Switches behind the child ports: they may count several, and repeat.
    EXPECT_EQ(builder.add_tree(tree, 6, parent, children,
                               {.slots = 8, .payload_bytes = limit, .in_switch = true}),
              "");
    TestSwitch s;
    s.adopt(std::move(builder));
    const auto sums = [&](std::uint32_t seqno, ContributionCount count) {
      wire::WideFrame f = wide_contribution(seqno, Nid{11}, ReductionId{0});
      f.word.count = count;
      wire::ReductionFrame n = contribution(seqno, Nid{11});
      n.word.count = count;
      return wide ? wide_frame(f) : Frame(n);
    };
    s.give(parent, first_arm(7));
    expect_absorbed(s.give(child, sums(7, 5)));
    expect_in_switch(s.give(parent, sums(7, 1)));
    expect_absorbed(s.give(child, sums(8, 3)));
    expect_absorbed(s.give(child, sums(8, 3))); // twice, and full
    EXPECT_EQ(s.engine().discarded.read(), 6U);
    ASSERT_EQ(s.descriptors().size(), 1U);
    EXPECT_EQ(s.descriptors()[0].seqno, SequenceNumber{8});
    EXPECT_EQ(s.descriptors()[0].count, 0U);
    wire::WideFrame asking = wide_contribution(9, root, ReductionId{0});
    asking.word = of_result(arm(9), 1023).word;
    Frame frame = wide_frame(asking);
    expect_in_switch(s.give(parent, frame), Event::replayed);
    EXPECT_EQ(wire::load_word(frame.portals()).resno, SequenceNumber{7});
  }
}

TEST(InSwitch, TheRootCountsOnce) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  expect_absorbed(s.give(parent, narrow(contribution(7, root))));
  expect_dropped(s, s.give(parent, narrow(contribution(7, root))), parent,
                 DropReason::counted_twice);
}

TEST(InSwitch, ARootThatMissedTheResultGetsItAgainUnderASequenceOfItsOwn) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  Frame fresh = reduce(s, 7);
  // One has contributed to the next reduction already; the root requests the last one.
  expect_absorbed(s.give(child, narrow(contribution(8, Nid{11}))));
  Frame asking(narrow(of_result(arm(9), 1023)));
  expect_in_switch(s.give(parent, asking), Event::replayed);
  wire::ReductionFrame expected = fresh.decoded();
  expected.word.seqno = SequenceNumber{10};
  expected.word.pad = wire::pad_retry;
  EXPECT_EQ(asking, Frame(expected));
  ASSERT_EQ(s.descriptors().size(), 1U);
  EXPECT_EQ(s.descriptors()[0].seqno, SequenceNumber{10});
  EXPECT_EQ(s.descriptors()[0].count, 0U);
  EXPECT_EQ(s.engine().discarded.read(), 1U);
  EXPECT_EQ(s.engine().replayed.read(), 1U);

  reduce(s, 10);
  // That one, too: the kept result is of sequence 10 now, and the root has 7.
  Frame again(narrow(of_result(arm(12), 7)));
  expect_in_switch(s.give(parent, again), Event::replayed);
  EXPECT_EQ(again.decoded().word.resno, SequenceNumber{10});
  EXPECT_EQ(again.decoded().word.seqno, SequenceNumber{13});
}

TEST(InSwitch, ARootThatHasNoResultYetHasMissedTheFirstWhateverItsNumber) {
  for (const std::uint32_t first : {0U, 300U, 511U, 600U, 1021U}) {
    TestSwitch s = in_switch_switch();
    s.give(parent, narrow(first_arm(first)));
    reduce(s, first);
    Frame asking(narrow(of_result(arm((first + 2) % 1022), 1023)));
    expect_in_switch(s.give(parent, asking), Event::replayed);
    EXPECT_EQ(asking.decoded().word.resno, SequenceNumber{first});
  }
}

TEST(InSwitch, AnOldArmIsAnsweredWithASequenceThatIsNewerThanTheArmedOne) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  reduce(s, 7);
  reduce(s, 8);
  Frame late(narrow(of_result(arm(6), 5))); // it was overtaken long ago
  expect_in_switch(s.give(parent, late), Event::replayed);
  EXPECT_EQ(late.decoded().word.seqno, SequenceNumber{10});
}

TEST(InSwitch, ARootThatHasTheResultArmsAsEver) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  reduce(s, 7);
  expect_absorbed(s.give(child, narrow(contribution(8, Nid{11}))));
  expect_replicated(s.give(parent, narrow(of_result(arm(10), 7))), children, Event::rearmed);
  EXPECT_EQ(s.engine().discarded.read(), 1U);
  reduce(s, 10);
  // It combined one itself, which is newer than the kept one.
  expect_replicated(s.give(parent, narrow(of_result(arm(13), 12))), children, Event::rearmed);
  // Now no result is kept that it could have missed.
  expect_replicated(s.give(parent, narrow(of_result(arm(14), 9))), children, Event::rearmed);
  EXPECT_EQ(s.engine().replayed.read(), 0U);
}

TEST(InSwitch, AResultThatTheRootRefusesIsKeptNoLonger) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  reduce(s, 7);
  Decision d = s.give(parent, narrow(refusal(6))); // not that one
  EXPECT_EQ(d.action, Action::absorb);
  EXPECT_EQ(d.event, Event::kept_released);
  Frame asking(narrow(of_result(arm(9), 1023)));
  expect_in_switch(s.give(parent, asking), Event::replayed);
  d = s.give(parent, narrow(refusal(7)));
  EXPECT_EQ(d.action, Action::absorb);
  EXPECT_EQ(s.descriptors()[0].seqno, SequenceNumber{10}) << "it arms nothing";
  expect_replicated(s.give(parent, narrow(of_result(arm(12), 1023))), children, Event::rearmed);
}

TEST(InSwitch, AnotherGroupMissesNothing) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  reduce(s, 7);
  wire::ReductionFrame other = narrow(first_arm(0));
  other.cookie = Cookie{99};
  expect_replicated(s.give(parent, other), children, Event::rearmed);
}

TEST(InSwitch, NoticesGoDown) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  reduce(s, 7);
  expect_replicated(s.give(parent, narrow(of_result(disarm(1022), 1023))), children,
                    Event::disarmed);
}

TEST(InSwitch, ARollCallTakesTheSwitchOut) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  reduce(s, 7);
  expect_replicated(s.give(parent, narrow(of_result(disarm(10), 7))), children, Event::disarmed);
  expect_forwarded(s.give(child, narrow(contribution(10, Nid{11}))), parent,
                   Event::passed_not_armed);
  // A member that has missed the last result cannot call yet.
  Frame call(narrow(of_result(disarm(12), 1023)));
  expect_in_switch(s.give(parent, call), Event::replayed);
}

TEST(InSwitch, AVectorThatDoesNotFitTheFrameLeavesWithTheNextLookAtTheTimers) {
  TestSwitch s = in_switch_switch();
  s.give(parent, with_id(first_arm(3), high_id));
  const std::vector<std::uint32_t> ones(limit / 4, 1);
  for (const auto& [port, nid] :
       {std::pair(child, 11U), std::pair(other_child, 12U), std::pair(third_child, 13U)}) {
    s.give(port, wide_frame(wide_contribution(3, Nid{nid}), ones));
  }
  Frame fresh = wide_frame(wide_contribution(3, root), ones);
  expect_in_switch(s.give(parent, fresh));

  const Decision d = s.give(parent, with_id(of_result(arm(5), 1023), high_id));
  EXPECT_EQ(d.action, Action::absorb);
  EXPECT_EQ(d.event, Event::replayed);
  EXPECT_LE(s.core.next_deadline(), s.now);
  EXPECT_TRUE(s.emitted.empty());
  s.expire();
  ASSERT_EQ(s.emitted.size(), 4U);
  PortSet ports;
  wire::WideFrame expected = decoded_wide(fresh);
  expected.word.seqno = SequenceNumber{6};
  expected.word.pad = wire::pad_retry;
  for (TestSwitch::Emitted& e : s.emitted) {
    ports.insert(e.port);
    EXPECT_EQ(e.frame, wide_frame(expected, std::vector<std::uint32_t>(limit / 4, 4)));
  }
  EXPECT_EQ(ports, all_members);
  s.expire();
  EXPECT_EQ(s.emitted.size(), 4U) << "once";
  EXPECT_GT(s.core.next_deadline(), s.now);

  // A frame that is long enough carries it itself.
  wire::WideFrame asking = decoded_wide(fresh);
  asking.word = with_id(of_result(arm(8), 1), high_id).word;
  asking.word.count = 4;
  Frame long_enough = wide_frame(asking);
  expect_in_switch(s.give(parent, long_enough), Event::replayed);
  expected.word.seqno = SequenceNumber{9};
  EXPECT_EQ(long_enough, wide_frame(expected, std::vector<std::uint32_t>(limit / 4, 4)));
}

TEST(InSwitch, AReplayThatWaitsIsNotSentBehindANewerArm) {
  TestSwitch s = in_switch_switch();
  s.give(parent, with_id(first_arm(3), high_id));
  for (const auto& [port, nid] : {std::pair(child, 11U), std::pair(other_child, 12U),
                                  std::pair(third_child, 13U), std::pair(parent, 1U)}) {
    s.give(port, wide_frame(wide_contribution(3, Nid{nid})));
  }
  s.give(parent, with_id(of_result(arm(5), 1023), high_id));
  s.give(parent, with_id(of_result(arm(8), 3), high_id));
  s.expire();
  EXPECT_TRUE(s.emitted.empty());
}

TEST(InSwitch, WithoutBuffersAReplayIsDroppedAndCounted) {
  TestSwitch s = in_switch_switch();
  s.give(parent, with_id(first_arm(3), high_id));
  for (const auto& [port, nid] : {std::pair(child, 11U), std::pair(other_child, 12U),
                                  std::pair(third_child, 13U), std::pair(parent, 1U)}) {
    s.give(port, wide_frame(wide_contribution(3, Nid{nid})));
  }
  s.give(parent, with_id(of_result(arm(5), 1023), high_id));
  s.buffers_are_free = false;
  s.core.port_changed(child, false);
  s.expire();
  EXPECT_EQ(s.drops(child, DropReason::port_down), 1U);
  EXPECT_EQ(s.drops(parent, DropReason::no_buffer), 1U);
  EXPECT_EQ(s.all_drops(), 4U);
}

TEST(InSwitch, KeptVectorsOfAllIdsLieApart) {
  TestSwitch s = in_switch_switch();
  const auto value_of = [](std::uint32_t id, std::uint32_t round) { return 1000 * round + id; };
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 128; ++i) {
      const ReductionId id{static_cast<std::uint8_t>(i)};
      const std::uint32_t seqno = 3 + round;
      if (round == 0) {
        s.give(parent, with_id(first_arm(seqno), id));
      }
      const std::vector<std::uint32_t> values(limit / 4, value_of(i, round));
      for (const auto& [port, nid] : {std::pair(child, 11U), std::pair(other_child, 12U),
                                      std::pair(third_child, 13U), std::pair(parent, 1U)}) {
        s.give(port, wide_frame(wide_contribution(seqno, Nid{nid}, id), values));
      }
    }
  }
  for (std::uint32_t i = 0; i < 128; ++i) {
    wire::WideFrame asking = wide_contribution(7, root, ReductionId{static_cast<std::uint8_t>(i)});
    asking.word = of_result(arm(7), 3).word;
    Frame frame = wide_frame(asking);
    expect_in_switch(s.give(parent, frame), Event::replayed);
    EXPECT_EQ(elements_of<std::uint32_t>(frame),
              std::vector<std::uint32_t>(limit / 4, 4 * value_of(i, 1)));
  }
}

TEST(InSwitch, ATimerGoesOnWhenAResultArmsAndDropsWhatItHoldsAtTheEnd) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  const std::uint64_t timer = EngineTimers::ns_from_units(EngineTimers{}.units[0]);
  s.pass(timer - 1);
  reduce(s, 7);
  expect_absorbed(s.give(parent, narrow(contribution(8, root))));
  s.pass(1);
  ASSERT_EQ(s.descriptors().size(), 1U) << "its result armed it a nanosecond ago";
  EXPECT_EQ(s.descriptors()[0].count, 1U);
  s.pass(timer - 1);
  EXPECT_EQ(s.descriptors().size(), 1U);
  s.pass(1);
  EXPECT_TRUE(s.descriptors().empty());
  EXPECT_TRUE(s.emitted.empty()) << "the root's own is in it";
  EXPECT_EQ(s.engine().discarded.read(), 1U);
  EXPECT_EQ(s.engine().partial.read(), 0U);
  expect_forwarded(s.give(child, narrow(contribution(8, Nid{11}))), parent, Event::passed_late);
}

TEST(InSwitch, WhatIsHeldForATreeThatGoesAwayIsDropped) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  reduce(s, 7);
  s.give(child, narrow(contribution(8, Nid{11})));
  s.adopt(standard_tables());
  EXPECT_TRUE(s.emitted.empty());
  EXPECT_EQ(s.engine().discarded.read(), 1U);
  EXPECT_TRUE(s.descriptors().empty());
  // Its number may be another tree's then.
  TablesBuilder builder = standard_tables();
  EXPECT_EQ(builder.add_tree(narrow_tree, wait_count, parent, children, {.in_switch = true}), "");
  s.adopt(std::move(builder));
  expect_replicated(s.give(parent, narrow(of_result(arm(9), 1023))), children, Event::armed);
}

TEST(InSwitch, OfPortsThatAreDownTheOthersGetTheResult) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  s.give(child, narrow(contribution(7, Nid{11})));
  s.give(other_child, narrow(contribution(7, Nid{12})));
  s.give(third_child, narrow(contribution(7, Nid{13})));
  s.core.port_changed(parent, false);
  s.core.port_changed(child, false);
  const Decision d = s.give(parent, narrow(contribution(7, root)));
  EXPECT_EQ(d.action, Action::replicate_result);
  EXPECT_EQ(d.ports, PortSet{0b1100});
  EXPECT_EQ(s.drops(parent, DropReason::port_down), 1U);
  EXPECT_EQ(s.drops(child, DropReason::port_down), 1U);
}

TEST(InSwitch, FramesThatMayBecomeAResultAreNotOnlyRead) {
  TestSwitch s = in_switch_switch();
  Frame f(narrow(contribution(7, root)));
  EXPECT_FALSE(s.core.only_reads(parent, f.view()));
  EXPECT_FALSE(s.core.only_reads(child, f.view()));
  EXPECT_TRUE(s.core.only_reads(stranger, f.view()));
  f.resize(20);
  EXPECT_TRUE(s.core.only_reads(parent, f.view()));
  TestSwitch plain;
  Frame g(contribution(7, root));
  EXPECT_TRUE(plain.core.only_reads(parent, g.view()));
}

TEST(InSwitch, ATreeWithoutOthersIsRefused) {
  TablesBuilder builder = standard_tables();
  EXPECT_EQ(
      builder.add_tree(narrow_tree, 1, parent, children, {.in_switch = true}),
      "tree 292: a tree with in-switch results waits for the root and at least one other, and "
      "its wait count is 1; give the size of the group");
  EXPECT_NE(builder.add_tree(narrow_tree, 0, parent, children, {.in_switch = true}), "");
}

TEST(InSwitch, TheKeptVectorsCountInSlotMemory) {
  const SlotDemand plain{.slots = 16, .payload_bytes = 704, .half_floats = true};
  SlotDemand in_switch = plain;
  in_switch.in_switch = true;
  EXPECT_EQ(plain.bytes(), 16U * 1408);
  EXPECT_EQ(in_switch.bytes(), 16U * (1408 + 704));
  const SlotPlace place(in_switch, 100);
  EXPECT_EQ(place.demand(), in_switch);
  EXPECT_EQ(place.lines() * slot_line_bytes, in_switch.bytes());
  EXPECT_EQ(place.kept_line_of(ReductionId{0}), 100 + 16 * 22);
  EXPECT_EQ(place.kept_line_of(ReductionId{15}) + 11, 100 + place.lines());
  EXPECT_EQ((SlotDemand{.in_switch = true}.bytes()), 0U);
}

TEST(InSwitch, ExplainNamesIt) {
  TestSwitch s = in_switch_switch();
  s.give(parent, narrow(first_arm(7)));
  s.give(child, narrow(contribution(7, Nid{11})));
  s.give(other_child, narrow(contribution(7, Nid{12})));
  s.give(third_child, narrow(contribution(7, Nid{13})));
  Frame last(narrow(contribution(7, root)));
  Explanation e = explain(s.core, parent, last.view());
  EXPECT_EQ(e.decision.action, Action::replicate_result);
  EXPECT_EQ(e.decision.event, Event::completed_in_switch);
  EXPECT_EQ(e.steps.back(),
            "the result of 4 contributions leaves through ports 0 1 2 3 (completed_in_switch): "
            "the result is multicast by this switch");
  expect_in_switch(s.give(parent, last));
  Frame asking(narrow(of_result(arm(9), 1023)));
  e = explain(s.core, parent, asking.view());
  EXPECT_EQ(e.decision.event, Event::replayed);
  EXPECT_EQ(e.steps.at(e.steps.size() - 2),
            "the result of sequence 7 is kept, and goes out again with the arm of sequence 10");
  EXPECT_EQ(s.engine().replayed.read(), 0U);
  Frame refusing(narrow(refusal(7)));
  e = explain(s.core, parent, refusing.view());
  EXPECT_EQ(e.steps.back(), "it ends here (kept_released): the root refuses the last result, which "
                            "is kept no longer");
}

} // namespace
} // namespace tributary::core::test
