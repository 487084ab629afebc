// Wide frames in the engine: what is combined, when it leaves, and what does not match.

#include "dataplane/core/explain.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace tributary::core::test {
namespace {

using Ints = std::vector<std::uint32_t>;

/// As many as the longest vector has, all different.
Ints ramp(std::uint32_t step) {
  Ints ints(limit / sizeof(std::uint32_t));
  std::iota(ints.begin(), ints.end(), 1U);
  std::ranges::transform(ints, ints.begin(), [step](std::uint32_t i) { return i * step; });
  return ints;
}

wire::ReductionFrame arm_id(std::uint32_t seqno, ReductionId id) { return with_id(arm(seqno), id); }

TEST(WideEngine, TheFrameThatFillsTheCountCarriesTheSum) {
  for (const ReductionId id : {ReductionId{0}, ReductionId{7}, ReductionId{8}, ReductionId{127}}) {
    TestSwitch s = wide_switch();
    expect_replicated(s.give(parent, arm_id(7, id)), children, Event::armed);
    wire::WideFrame f = wide_contribution(7, Nid{1}, id);
    f.signature = 10;
    Frame first = wide_frame(f, ramp(1));
    const Frame before = first;
    expect_absorbed(s.give(child, first));
    EXPECT_EQ(first, before);
    f.source_nid = Nid{2};
    f.signature = 200;
    f.word.count = 2;
    expect_absorbed(s.give(other_child, wide_frame(f, ramp(10))));
    f.source_nid = Nid{3};
    f.signature = 3000;
    f.word.count = 1;
    Frame last = wide_frame(f, ramp(100));
    const Decision d = s.give(third_child, last);
    expect_emitted(d, parent);
    EXPECT_EQ(d.length, wire::wide_header_bytes + limit);

    const wire::WideFrame result = decoded_wide(last);
    EXPECT_EQ(result.source_nid, Nid{1});
    EXPECT_EQ(result.rank, 1U);
    EXPECT_EQ(result.slot, id);
    EXPECT_EQ(result.signature, 3210U);
    EXPECT_EQ(result.form, wire::Form::bits32);
    EXPECT_EQ(result.payload_bytes, limit);
    EXPECT_EQ(result.word.count, 4U);
    EXPECT_EQ(result.word.rc, 0U);
    EXPECT_EQ(result.word.resno, SequenceNumber{7});
    EXPECT_FALSE(result.word.arm);
    EXPECT_EQ(elements_of<std::uint32_t>(last), ramp(111));
    EXPECT_TRUE(s.descriptors().empty());
    EXPECT_EQ(s.engine().contributions.read(), 3U);
    EXPECT_EQ(s.engine().full.read(), 1U);
    EXPECT_EQ(s.of(tree).full.read(), 1U);
  }
}

TEST(WideEngine, TheFirstMayFillTheCount) {
  TestSwitch s = wide_switch();
  s.give(parent, arm_id(7, high_id));
  wire::WideFrame f = wide_contribution(7);
  f.word.count = 5; // one too many
  f.word.op = static_cast<std::uint8_t>(wire::Opcode::flt_max);
  Frame only = wide_frame(f, Ints{0x7F800001, 0xFFFFFFFF, 5});
  expect_emitted(s.give(child, only), parent);
  const wire::WideFrame result = decoded_wide(only);
  EXPECT_EQ(result.word.count, 5U);
  EXPECT_EQ(result.word.rc, static_cast<unsigned>(wire::ResultCode::contr_overflow));
  EXPECT_EQ(elements_of<std::uint32_t>(only)[0], 0x7FC00000U) << "an operand like any other";
  EXPECT_EQ(elements_of<std::uint32_t>(only)[2], 5U);
  EXPECT_EQ(s.engine().overflows.read(), 1U);
}

TEST(WideEngine, FormsComeInTurnOnOneId) {
  TestSwitch s = wide_switch();
  for (const ReductionId id : {ReductionId{3}, high_id}) {
    for (std::uint32_t seqno = 1; seqno < 9; ++seqno) {
      EXPECT_EQ(s.give(parent, arm_id(seqno, id)).action, core::Action::replicate);
      const bool is_wide = seqno % 3 != 0;
      const std::size_t bytes = seqno % 2 == 0 ? limit : 64;
      for (std::uint32_t i = 1; i <= wait_count; ++i) {
        Frame f(with_id(contribution(seqno, Nid{i}), id));
        if (is_wide) {
          wire::WideFrame w = wide_contribution(seqno, Nid{i}, id);
          w.payload_bytes = bytes;
          f = wide_frame(w, ramp(i));
        }
        const Decision d = s.give(child, f);
        if (i < wait_count) {
          expect_absorbed(d);
          continue;
        }
        expect_emitted(d, parent);
        EXPECT_EQ(d.length,
                  is_wide ? wire::wide_header_bytes + bytes : wire::reduction_frame_bytes);
        if (is_wide) {
          Ints sum = ramp(10);
          sum.resize(bytes / sizeof(std::uint32_t));
          EXPECT_EQ(elements_of<std::uint32_t>(f), sum);
        } else {
          EXPECT_EQ(f.decoded().payload, (wire::Payload{4, 8, 12, 16}));
        }
      }
    }
  }
  EXPECT_EQ(s.engine().op_mismatches.read(), 0U);
}

TEST(WideEngine, EveryIdHasASlotOfItsOwn) {
  TestSwitch s = wide_switch({.descriptors_per_engine = 1});
  for (std::uint8_t id = 0; id < 128; ++id) {
    EXPECT_EQ(s.give(parent, arm_id(7, ReductionId{id})).event, Event::armed)
        << "an arm on a reserved id cannot fail";
  }
  EXPECT_EQ(s.descriptors().size(), 128U);
  for (std::uint32_t i = 1; i <= wait_count; ++i) {
    for (std::uint32_t id = 0; id < 128; ++id) {
      Frame f = wide_frame(wide_contribution(7, Nid{i}, ReductionId{static_cast<std::uint8_t>(id)}),
                           ramp(id + i));
      const Decision d = s.give(child, f);
      ASSERT_EQ(d.action, i == wait_count ? core::Action::emit : core::Action::absorb);
      if (i == wait_count) {
        ASSERT_EQ(elements_of<std::uint32_t>(f), ramp(4 * id + 10)) << id;
      }
    }
  }
}

TEST(WideEngine, TheNumberOfDescriptorsLimitsTreesWithoutSlotsAlone) {
  TestSwitch s = wide_switch({.descriptors_per_engine = 1});
  const auto on_old = [](std::uint8_t id) {
    wire::ReductionFrame f = arm_id(7, ReductionId{id});
    f.tree = old_tree;
    return f;
  };
  EXPECT_EQ(s.give(parent, on_old(0)).event, Event::armed);
  EXPECT_EQ(s.give(parent, arm_id(7, high_id)).event, Event::armed);
  EXPECT_EQ(s.give(parent, on_old(1)).event, Event::arm_failed);
  EXPECT_EQ(s.core.engines().in_use(parent), 1U);
  // Neither the end of a reduction with a slot nor its disarm frees a descriptor.
  s.give(parent, with_id(disarm(7), high_id));
  EXPECT_EQ(s.core.engines().in_use(parent), 1U);
  EXPECT_EQ(s.give(parent, on_old(1)).event, Event::arm_failed);
  wire::ReductionFrame release = on_old(0);
  release.word.arm = false;
  s.give(parent, release);
  EXPECT_EQ(s.core.engines().in_use(parent), 0U);
  EXPECT_EQ(s.give(parent, on_old(1)).event, Event::armed);
}

/// One kind of mismatch with the first contribution.
struct Other {
  const char* what;
  Frame first;
  Frame second;
};

std::vector<Other> mismatches() {
  const wire::WideFrame f = wide_contribution(7, Nid{1});
  wire::WideFrame op = wide_contribution(7, Nid{2});
  op.word.op = static_cast<std::uint8_t>(wire::Opcode::bit_xor);
  wire::WideFrame form = wide_contribution(7, Nid{2});
  form.form = wire::Form::bits16;
  wire::WideFrame length = wide_contribution(7, Nid{2});
  length.payload_bytes = limit - 8;
  const wire::ReductionFrame narrow_first = with_id(contribution(7, Nid{1}), high_id);
  const wire::ReductionFrame narrow_second = with_id(contribution(7, Nid{2}), high_id);
  return {
      {"opcode", wide_frame(f), wide_frame(op)},
      {"form", wide_frame(f), wide_frame(form)},
      {"length", wide_frame(f), wide_frame(length)},
      {"84 bytes behind a vector", wide_frame(f), Frame(narrow_second)},
      {"a vector behind 84 bytes", Frame(narrow_first), wide_frame(op)},
      {"the same opcode, though", Frame(narrow_first), wide_frame(wide_contribution(7, Nid{2}))}};
}

void expect_report(Frame frame, std::size_t length, ContributionCount count) {
  frame.resize(length);
  const wire::ReductionFrame report = frame.decoded();
  EXPECT_EQ(report.word.rc, static_cast<unsigned>(wire::ResultCode::op_mismatch));
  EXPECT_EQ(report.word.count, count);
  EXPECT_EQ(report.payload, (wire::Payload{0x0000'1000'0000'2000ULL, 0, 0, 0}));
  EXPECT_EQ(report.source_nid, Nid{1});
  EXPECT_EQ(wire::dfa_of(frame.portals()).slot(), high_id);
  EXPECT_EQ(frame.portals()[wire::portals_offset::form], std::byte{0});
}

TEST(WideEngine, AMismatchNamesBothHostsInAFrameOf84Bytes) {
  for (const Other& other : mismatches()) {
    SCOPED_TRACE(other.what);
    TestSwitch s = wide_switch();
    s.give(parent, arm_id(7, high_id));
    expect_absorbed(s.give(child, Frame(other.first)));
    expect_absorbed(s.give(other_child, Frame(other.second)));
    EXPECT_EQ(s.engine().op_mismatches.read(), 1U);
    // Frozen, whatever else arrives; and the one that completes the count may be of either form.
    expect_absorbed(s.give(child, wide_frame(wide_contribution(7, Nid{3}))));
    Frame last = wide_frame(wide_contribution(7, Nid{4}));
    const Decision d = s.give(child, last);
    expect_emitted(d, parent);
    EXPECT_EQ(d.length, wire::reduction_frame_bytes);
    expect_report(last, d.length, 4);

    TestSwitch partial = wide_switch();
    partial.give(parent, arm_id(7, high_id));
    partial.give(child, Frame(other.first));
    partial.give(other_child, Frame(other.second));
    partial.pass(30'000'000'000);
    ASSERT_EQ(partial.emitted.size(), 1U);
    ASSERT_EQ(partial.emitted[0].frame.bytes().size(), wire::reduction_frame_bytes);
    expect_report(partial.emitted[0].frame, wire::reduction_frame_bytes, 2);
  }
}

TEST(WideEngine, AMismatchMayFillTheCount) {
  for (const Other& other : mismatches()) {
    SCOPED_TRACE(other.what);
    TestSwitch s = wide_switch();
    s.give(parent, arm_id(7, high_id));
    s.give(child, wide_frame(wide_contribution(7, Nid{1})));
    wire::ReductionFrame three = with_id(contribution(7, Nid{2}), high_id);
    three.word.count = 3;
    Frame last(three);
    const Decision d = s.give(child, last);
    expect_emitted(d, parent);
    EXPECT_EQ(d.length, wire::reduction_frame_bytes);
    expect_report(last, d.length, 4);
  }
}

TEST(WideEngine, AReportFromBelowIsTakenOver) {
  TestSwitch s = wide_switch();
  s.give(parent, arm_id(7, high_id));
  s.give(child, wide_frame(wide_contribution(7)));
  wire::ReductionFrame report = with_id(contribution(7, Nid{5}), high_id);
  report.word.rc = static_cast<std::uint8_t>(wire::ResultCode::op_mismatch);
  report.payload = {0xAAAA'BBBB'CCCC'DDDDULL, 0, 0, 0};
  s.give(child, report);
  report.payload = {1, 2, 3, 4}; // and one is free now
  report.word.count = 2;
  Frame last(report);
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(last.decoded().payload[0], 0xAAAA'BBBB'CCCC'DDDDULL);
  EXPECT_EQ(last.decoded().word.rc, static_cast<unsigned>(wire::ResultCode::op_mismatch));
}

TEST(WideEngine, AVectorIsNoReportWhateverItsCodeSays) {
  for (const bool first : {true, false}) {
    TestSwitch s = wide_switch();
    s.give(parent, arm_id(7, high_id));
    wire::WideFrame f = wide_contribution(7, Nid{1});
    if (!first) {
      s.give(child, wide_frame(f));
      f.source_nid = Nid{2};
    }
    f.word.rc = static_cast<std::uint8_t>(9);
    s.give(child, wide_frame(f));
    s.pass(30'000'000'000);
    ASSERT_EQ(s.emitted.size(), 1U);
    const wire::ReductionFrame report = s.emitted[0].frame.decoded();
    EXPECT_EQ(report.word.rc, static_cast<unsigned>(wire::ResultCode::op_mismatch));
    EXPECT_EQ(
        report.payload,
        (wire::Payload{first ? 0x0000'1000'0000'1000ULL : 0x0000'1000'0000'2000ULL, 0, 0, 0}));
  }
}

TEST(WideEngine, TheWorstCodeStays) {
  TestSwitch s = wide_switch();
  s.give(parent, arm_id(7, high_id));
  wire::WideFrame f = wide_contribution(7, Nid{1});
  f.word.rc = static_cast<std::uint8_t>(wire::ResultCode::flt_inexact);
  s.give(child, wide_frame(f, Ints{0x7FFFFFFF}));
  f.word.rc = 0;
  f.word.count = 2;
  s.give(child, wide_frame(f, Ints{1})); // wraps
  f.word.count = 1;
  Frame last = wide_frame(f, Ints{0});
  s.give(child, last);
  EXPECT_EQ(decoded_wide(last).word.rc, static_cast<unsigned>(wire::ResultCode::int_overflow));
  EXPECT_EQ(elements_of<std::uint32_t>(last)[0], 0x80000000U);
}

TEST(WideEngine, APartialResultIsAsLongAsItsVector) {
  TestSwitch s = wide_switch();
  s.give(parent, arm_id(7, high_id));
  wire::WideFrame f = wide_contribution(7, Nid{1});
  f.payload_bytes = 72;
  Frame first = wide_frame(f, ramp(1));
  FrameView view = first.view();
  view.traffic_class = 3;
  expect_absorbed(s.core.process(child, view, s.now));
  s.give(child, wide_frame(f, ramp(2)));
  s.buffers_are_free = false;
  s.pass(30'000'000'000);
  EXPECT_EQ(s.engine().emission_delayed.read(), 1U);
  EXPECT_EQ(s.descriptors().size(), 1U);
  s.buffers_are_free = true;
  s.pass(1);
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].port, parent);
  EXPECT_EQ(s.emitted[0].traffic_class, TrafficClass{3});
  const wire::WideFrame partial = decoded_wide(s.emitted[0].frame);
  EXPECT_EQ(s.emitted[0].frame.bytes().size(), wire::wide_header_bytes + 72);
  EXPECT_EQ(partial.word.count, 2U);
  Ints sum = ramp(3);
  sum.resize(18);
  EXPECT_EQ(elements_of<std::uint32_t>(s.emitted[0].frame), sum);
  // And frames that arrive now are late.
  expect_forwarded(s.give(child, wide_frame(f)), parent, Event::passed_late);
}

TEST(WideEngine, SumsOfHalfFloatsAreNarrowedWhereTheyLeave) {
  // 2048 + 1 + 1: in binary16, step by step, 2048; in binary32 2050.
  TestSwitch s = wide_switch();
  const auto on_half = [](wire::WideFrame f, std::size_t bytes) {
    f.tree = half_tree;
    f.form = wire::Form::bits16;
    f.payload_bytes = bytes;
    f.word.op = static_cast<std::uint8_t>(wire::Opcode::flt_sum_nearest);
    return f;
  };
  wire::ReductionFrame a = arm_id(7, ReductionId{15});
  a.tree = half_tree;
  s.give(parent, a);
  const wire::WideFrame f = on_half(wide_contribution(7, Nid{1}, ReductionId{15}), 704);
  using Halves = std::vector<std::uint16_t>;
  s.give(child, wide_frame(f, Halves(352, 0x6800)));
  s.give(child, wide_frame(f, Halves(352, 0x3C00)));
  s.give(child, wide_frame(f, Halves(352, 0x3C00)));
  Frame last = wide_frame(f, Halves(352, 0));
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(elements_of<std::uint16_t>(last), Halves(352, 0x6801));

  // A tree without room for them passes those that do not fit, and combines the others.
  s.give(parent, arm_id(7, high_id));
  wire::WideFrame elsewhere = on_half(wide_contribution(7, Nid{1}), limit);
  elsewhere.tree = tree;
  expect_forwarded(s.give(child, wide_frame(elsewhere)), parent, Event::passed_reserved);
  elsewhere.payload_bytes = limit / 2;
  expect_absorbed(s.give(child, wide_frame(elsewhere)));
}

TEST(WideEngine, PairsWithoutMeaningPassThrough) {
  TestSwitch s = wide_switch();
  s.give(parent, arm_id(7, high_id));
  const auto pass = [&](wire::Form form, std::uint8_t op) {
    wire::WideFrame f = wide_contribution(7);
    f.form = form;
    f.word.op = op;
    Frame frame = wide_frame(f);
    const Frame before = frame;
    expect_forwarded(s.give(child, frame), parent, Event::passed_reserved);
    EXPECT_EQ(frame, before);
  };
  pass(wire::Form::bits8, static_cast<std::uint8_t>(wire::Opcode::flt_min));
  pass(wire::Form::bits32, static_cast<std::uint8_t>(wire::Opcode::barrier));
  pass(wire::Form::tuple, static_cast<std::uint8_t>(wire::Opcode::int_sum));
  pass(wire::Form::bits32, 63);
  EXPECT_EQ(s.of(tree).passed_through.read(), 4U);
  EXPECT_FALSE(s.descriptors()[0].have_data);
}

TEST(WideEngine, QuestionsAreThoseOf84Bytes) {
  TestSwitch s = wide_switch();
  const auto with = [](auto change) {
    wire::WideFrame f = wide_contribution(7);
    change(f);
    return wide_frame(f);
  };
  const auto nothing = [](wire::WideFrame&) {};
  const auto request = [](wire::WideFrame& f) {
    f.word.count = 0;
    f.word.pad = wire::pad_retry;
  };
  expect_forwarded(s.give(child, with(nothing)), parent, Event::passed_not_armed);
  s.give(parent, arm_id(7, high_id));
  expect_forwarded(s.give(child, with(request)), parent, Event::passed_empty);
  expect_forwarded(s.give(child, with([](auto& f) { f.cookie = Cookie{1}; })), parent,
                   Event::passed_foreign);
  expect_forwarded(s.give(child, with([](auto& f) { f.vni = Vni{1}; })), parent,
                   Event::passed_foreign);
  expect_forwarded(s.give(child, with([](auto& f) { f.word.seqno = SequenceNumber{8}; })), parent,
                   Event::passed_newer);
  EXPECT_EQ(s.all_drops(), 0U);
  expect_dropped(s, s.give(child, with([](auto& f) { f.word.arm = true; })), child,
                 DropReason::arm_from_child);
  EXPECT_EQ(s.give(child, with([](auto& f) { f.word.seqno = SequenceNumber{6}; })).reason,
            DropReason::stale_sequence);
  EXPECT_EQ(s.give(child, with([](auto& f) { f.word.count = 0; })).reason,
            DropReason::result_from_child);
  // The same once something is held.
  expect_absorbed(s.give(child, with(nothing)));
  expect_forwarded(s.give(child, with(request)), parent, Event::passed_empty);
  EXPECT_EQ(s.give(child, with([](auto& f) { f.word.arm = true; })).reason,
            DropReason::arm_from_child);
  EXPECT_EQ(s.descriptors()[0].count, 1U);
}

TEST(WideEngine, ARootsFrameOfAnyLengthArmsAndIsCopied) {
  TestSwitch s = wide_switch();
  wire::WideFrame f = wide_contribution(7, Nid{1});
  f.dscp = wire::dscp_root;
  f.word.arm = true;
  f.word.count = 16;
  f.word.resno = SequenceNumber{6};
  Frame result = wide_frame(f);
  const Frame before = result;
  expect_replicated(s.give(parent, result), children, Event::armed);
  EXPECT_EQ(result, before);
  expect_absorbed(s.give(child, wide_frame(wide_contribution(7))));
  EXPECT_EQ(s.give(parent, result).event, Event::rearmed);
  EXPECT_EQ(s.engine().discarded.read(), 1U);
  f.word.arm = false;
  expect_replicated(s.give(parent, wide_frame(f)), children, Event::disarmed);
  EXPECT_TRUE(s.descriptors().empty());
}

TEST(WideEngine, OneEndpointCountsOnce) {
  TablesBuilder builder;
  for (std::size_t i = 0; i < port_count; ++i) {
    ASSERT_EQ(builder.add_port({}), "");
  }
  ASSERT_EQ(builder.add_tree(tree, 3, parent, children, {.slots = 128, .payload_bytes = limit}),
            "");
  TestSwitch s;
  s.adopt(std::move(builder));
  s.give(parent, arm_id(7, high_id));
  expect_absorbed(s.give(child, wide_frame(wide_contribution(7, Nid{1}), ramp(1))));
  expect_dropped(s, s.give(child, wide_frame(wide_contribution(7, Nid{1}))), child,
                 DropReason::counted_twice);
  expect_absorbed(s.give(other_child, wide_frame(wide_contribution(7, Nid{2}), ramp(10))));
  EXPECT_EQ(s.give(other_child, wide_frame(wide_contribution(7, Nid{2}))).reason,
            DropReason::counted_twice);
  wire::WideFrame two = wide_contribution(7, Nid{3});
  two.word.count = 2;
  EXPECT_EQ(s.give(third_child, wide_frame(two)).reason, DropReason::counts_others);
  Frame last = wide_frame(wide_contribution(7, Nid{3}), ramp(100));
  expect_emitted(s.give(third_child, last), parent);
  EXPECT_EQ(elements_of<std::uint32_t>(last), ramp(111));
}

TEST(WideEngine, ADownedParentCostsTheResultAndItsName) {
  TestSwitch s = wide_switch();
  s.give(parent, arm_id(7, high_id));
  s.core.port_changed(parent, false);
  wire::WideFrame f = wide_contribution(7);
  f.word.count = 4;
  EXPECT_EQ(s.give(child, wide_frame(f)).reason, DropReason::port_down);
  EXPECT_EQ(s.drops(parent, DropReason::port_down), 1U);
}

TEST(WideEngine, ABurstIsItsFramesOneByOne) {
  std::vector<Frame> frames;
  for (std::uint32_t i = 1; i <= 60; ++i) {
    const ReductionId id{static_cast<std::uint8_t>(i % 20 * 6)};
    frames.push_back(i % 7 == 0 ? Frame(with_id(contribution(7, Nid{i}), id))
                                : wide_frame(wide_contribution(7, Nid{i}, id), ramp(i)));
  }
  TestSwitch alone = wide_switch();
  TestSwitch together = wide_switch();
  for (TestSwitch* s : {&alone, &together}) {
    for (std::uint8_t id = 0; id < 120; id += 6) {
      s->give(parent, arm_id(7, ReductionId{id}));
    }
  }
  std::vector<Frame> copies = frames;
  std::vector<FrameView> views;
  for (Frame& f : copies) {
    views.push_back(f.view());
  }
  std::vector<Decision> decisions(views.size());
  const BurstOutcome outcome = together.core.process_burst(child, views, together.now, decisions);
  EXPECT_TRUE(outcome.notable.empty()) << "contributions, whatever their form";
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Decision d = alone.give(child, frames[i]);
    EXPECT_EQ(d.action, decisions[i].action) << i;
    EXPECT_EQ(d.event, decisions[i].event) << i;
    EXPECT_EQ(frames[i], copies[i]) << i;
  }
  EXPECT_EQ(alone.descriptors().size(), together.descriptors().size());
}

TEST(WideEngine, ShowsWhatIsHeld) {
  TestSwitch s = wide_switch();
  s.give(parent, arm_id(7, high_id));
  EXPECT_EQ(s.descriptors()[0].payload_bytes, 0U);
  s.give(child, wide_frame(wide_contribution(7)));
  const DescriptorView held = s.descriptors()[0];
  EXPECT_EQ(held.key, ReductionKey(tree, high_id));
  EXPECT_EQ(held.form, wire::Form::bits32);
  EXPECT_EQ(held.payload_bytes, limit);

  Frame next = wide_frame(wide_contribution(7));
  const Explanation e = explain(s.core, child, next.view());
  EXPECT_EQ(e.decision.action, core::Action::absorb);
  std::string all;
  for (const std::string& step : e.steps) {
    all += step + '\n';
  }
  for (const char* const part :
       {"reduction 100", "a wide frame: 1408 bytes of elements of form 2 bits32",
        "128 slots of 1408 bytes", "form bits32, 1408 bytes", "2 of 4 contributions"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " is not in\n" << all;
  }
  EXPECT_EQ(s.descriptors()[0].count, 1U);
}

} // namespace
} // namespace tributary::core::test
