// Frames from a child port (wire format page, 5.4), in the order of the engine's questions.

#include "tests/unit/dataplane/core/test_switch.hpp"

namespace tributary::core::test {
namespace {

using wire::Opcode;
using wire::ResultCode;

/// Gives a frame and expects that it was forwarded to the parent bit for bit.
void expect_passed(TestSwitch& s, const wire::ReductionFrame& r, Event event) {
  Frame f(r);
  const Frame before = f;
  expect_forwarded(s.give(child, f), parent, event);
  EXPECT_EQ(f, before);
}

TEST(Upward, ArmFromAChildIsDropped) {
  TestSwitch s;
  s.give(parent, arm(7));
  expect_dropped(s, s.give(child, arm(7)), child, DropReason::arm_from_child);
  EXPECT_EQ(s.descriptors()[0].count, 0U);
}

TEST(Upward, ArmFromAChildWithACountIsDropped) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  auto c = contribution(7);
  c.word.arm = true;
  expect_dropped(s, s.give(child, c), child, DropReason::arm_from_child);
  EXPECT_EQ(s.descriptors()[0].count, 1U);
}

TEST(Upward, AResultFromAChildIsDropped) {
  // Count 0 and no retry: any member can make one that has all signatures.
  for (const bool armed : {false, true}) {
    TestSwitch s;
    if (armed) {
      s.give(parent, arm(7));
    }
    auto forged = contribution(7);
    forged.word.count = 0;
    expect_dropped(s, s.give(child, forged), child, DropReason::result_from_child);
    forged.word.pad = 0b110; // all but the retry bit
    EXPECT_EQ(s.give(child, forged).reason, DropReason::result_from_child);
  }
}

TEST(Upward, ARequestGoesToTheParentWhateverItsSequence) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  for (const std::uint32_t sequence : {6U, 7U, 8U}) {
    auto asking = contribution(sequence);
    asking.word.count = 0;
    asking.word.pad = wire::pad_retry;
    expect_passed(s, asking, Event::passed_empty);
    asking.word.op = 0x3F;
    asking.cookie = Cookie{1};
    expect_passed(s, asking, Event::passed_empty);
  }
  EXPECT_EQ(s.descriptors()[0].count, 1U);
  EXPECT_EQ(s.of(tree).passed_through.read(), 0U);
  EXPECT_EQ(s.of(tree).stale.read(), 0U);
}

TEST(Upward, NothingArmedPassesThrough) {
  TestSwitch s;
  expect_passed(s, contribution(7), Event::passed_not_armed);
  EXPECT_EQ(s.of(tree).passed_through.read(), 1U);
}

TEST(Upward, AnotherReductionOfTheTreeArmedPassesThrough) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto c = contribution(7);
  c.reduction = ReductionId{1};
  expect_passed(s, c, Event::passed_not_armed);
}

TEST(Upward, AnotherCookiePassesThrough) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto c = contribution(7);
  for (int bit = 0; bit < 32; ++bit) {
    c.cookie = Cookie{cookie.value ^ 1U << bit};
    expect_passed(s, c, Event::passed_foreign);
  }
  EXPECT_EQ(s.of(tree).passed_through.read(), 32U);
}

TEST(Upward, AnotherVniPassesThroughWhateverTheSequence) {
  TestSwitch s;
  s.give(parent, arm(7));
  for (const std::uint32_t sequence : {6U, 7U, 8U}) {
    auto c = contribution(sequence);
    c.vni = Vni{0x0401};
    expect_passed(s, c, Event::passed_foreign);
  }
  EXPECT_EQ(s.of(tree).stale.read(), 0U);
}

TEST(Upward, ForeignFramesAreDroppedWhereTheSwitchIsSetTo) {
  TestSwitch s({.drop_foreign = true});
  s.give(parent, arm(7));
  auto c = contribution(7);
  c.cookie = Cookie{1};
  expect_dropped(s, s.give(child, c), child, DropReason::foreign_cookie);
  EXPECT_EQ(s.of(tree).passed_through.read(), 0U);
}

TEST(Upward, OlderSequenceIsDropped) {
  for (const std::uint32_t distance : {1U, 2U, 100U, 511U, 512U}) {
    TestSwitch s;
    s.give(parent, arm(7));
    expect_dropped(s, s.give(child, contribution(7 + 1024 - distance)), child,
                   DropReason::stale_sequence);
    EXPECT_EQ(s.of(tree).stale.read(), 1U);
    EXPECT_EQ(s.descriptors()[0].count, 0U);
  }
}

TEST(Upward, NewerSequencePassesThrough) {
  for (const std::uint32_t distance : {1U, 2U, 100U, 511U}) {
    TestSwitch s;
    s.give(parent, arm(1020));
    expect_passed(s, contribution(1020 + distance), Event::passed_newer);
    EXPECT_EQ(s.of(tree).passed_through.read(), 1U);
    EXPECT_EQ(s.descriptors()[0].count, 0U);
  }
}

TEST(Upward, ContributionToTheSequenceEndedLastIsLate) {
  TestSwitch s;
  s.give(parent, arm(7));
  for (int i = 0; i < 4; ++i) {
    s.give(child, contribution(7));
  }
  expect_passed(s, contribution(7), Event::passed_late);
  expect_passed(s, contribution(6), Event::passed_not_armed);
  expect_passed(s, contribution(8), Event::passed_not_armed);
  EXPECT_EQ(s.of(tree).late.read(), 1U);
  EXPECT_EQ(s.of(tree).passed_through.read(), 2U);
}

TEST(Upward, ContributionAfterATimeoutIsLate) {
  for (const bool with_data : {false, true}) {
    TestSwitch s;
    s.give(parent, arm(7));
    if (with_data) {
      s.give(child, contribution(7));
    }
    s.pass(30'000'000'000);
    EXPECT_EQ(s.emitted.size(), with_data ? 1U : 0U);
    expect_passed(s, contribution(7), Event::passed_late);
  }
}

TEST(Upward, EndedSequenceIsStaleAndNotLateOnceANewerOneIsArmed) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.pass(30'000'000'000);
  s.give(parent, arm(8));
  expect_dropped(s, s.give(child, contribution(7)), child, DropReason::stale_sequence);
  EXPECT_EQ(s.of(tree).late.read(), 0U);
}

TEST(Upward, ReservedOpcodePassesThrough) {
  TestSwitch s;
  s.give(parent, arm(7));
  std::uint64_t reserved = 0;
  for (std::uint8_t op = 0; op < 64; ++op) {
    if (!wire::is_supported(op)) {
      auto c = contribution(7);
      c.word.op = op;
      expect_passed(s, c, Event::passed_reserved);
      ++reserved;
    }
  }
  EXPECT_EQ(reserved, 64 - std::size(wire::all_opcodes));
  EXPECT_EQ(s.of(tree).passed_through.read(), reserved);
  EXPECT_FALSE(s.descriptors()[0].have_data);
  // Beside data of another opcode it is not a mismatch either.
  s.give(child, contribution(7));
  auto c = contribution(7);
  c.word.op = 0x04;
  expect_passed(s, c, Event::passed_reserved);
  EXPECT_EQ(s.engine().op_mismatches.read(), 0U);
}

TEST(Upward, ReservedOpcodeOfAnotherSequenceIsJudgedByItsSequence) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto c = contribution(6);
  c.word.op = 0x04;
  expect_dropped(s, s.give(child, c), child, DropReason::stale_sequence);
}

TEST(Upward, MatchingContributionsAreAbsorbedAndTheLastOneIsEmitted) {
  TestSwitch s;
  s.give(parent, arm(7));
  const PortNumber from[] = {child, other_child, third_child};
  std::uint32_t count = 0;
  for (const PortNumber in : from) {
    Frame f(contribution(7));
    const Frame before = f;
    expect_absorbed(s.give(in, f));
    EXPECT_EQ(f, before);
    EXPECT_EQ(s.descriptors()[0].count, ++count);
    EXPECT_TRUE(s.descriptors()[0].have_data);
  }
  expect_emitted(s.give(other_child, contribution(7)), parent);
  EXPECT_TRUE(s.descriptors().empty());
  EXPECT_EQ(s.engine().contributions.read(), 4U);
  EXPECT_EQ(s.engine().full.read(), 1U);
  EXPECT_EQ(s.of(tree).full.read(), 1U);
  EXPECT_EQ(s.all_drops(), 0U);
  // A released one is not due any more either.
  s.pass(30'000'000'000);
  EXPECT_TRUE(s.emitted.empty());
  EXPECT_EQ(s.engine().expired_empty.read(), 0U);
}

TEST(Upward, EightReductionsOfATreeDoNotMix) {
  TestSwitch s;
  for (std::uint8_t id = 0; id < 8; ++id) {
    auto a = arm(100U + id);
    a.reduction = ReductionId{id};
    s.give(parent, a);
  }
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (std::uint8_t id = 0; id < 8; ++id) {
      auto c = contribution(100U + id);
      c.reduction = ReductionId{id};
      c.payload = {id, round, 0, 0};
      Frame f(c);
      EXPECT_EQ(s.give(child, f).event, round < 3 ? Event::contributed : Event::completed_full);
      if (round == 3) {
        EXPECT_EQ(f.decoded().payload, (wire::Payload{id * 4U, 6, 0, 0}));
        EXPECT_EQ(f.decoded().word.seqno, SequenceNumber{100U + id});
      }
    }
  }
}

TEST(Upward, FirstContributionThatCountsAllCompletesAtOnce) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto c = contribution(7);
  c.word.count = 4;
  c.word.resno = SequenceNumber{3}; // becomes the sequence
  c.word.pad = 7;                   // becomes 2: who wants the result does so further up, too
  Frame f(c);
  expect_emitted(s.give(child, f), parent);
  c.word.resno = SequenceNumber{7};
  c.word.pad = wire::pad_wanted;
  EXPECT_EQ(f, Frame(c));
}

TEST(Upward, CountsAddUpAcrossFrames) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto c = contribution(7);
  c.word.count = 3;
  expect_absorbed(s.give(child, c));
  Frame last(contribution(7));
  expect_emitted(s.give(other_child, last), parent);
  EXPECT_EQ(last.decoded().word.count, 4U);
  EXPECT_EQ(last.decoded().word.rc, 0U);
}

TEST(Upward, MoreThanTheWaitCountIsContrOverflow) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto c = contribution(7);
  c.word.count = 3;
  s.give(child, c);
  c.word.count = 2;
  Frame last(c);
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(last.decoded().word.count, 5U);
  EXPECT_EQ(last.decoded().word.rc, static_cast<std::uint8_t>(ResultCode::contr_overflow));
  EXPECT_EQ(s.engine().overflows.read(), 1U);
  EXPECT_EQ(s.engine().full.read(), 1U);
}

TEST(Upward, ContrOverflowDoesNotHideAMismatch) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  auto c = contribution(7);
  c.word.op = static_cast<std::uint8_t>(Opcode::int_max);
  c.word.count = 9;
  Frame last(c);
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(last.decoded().word.rc, static_cast<std::uint8_t>(ResultCode::op_mismatch));
}

TEST(Upward, CountSaturatesAtTwentyBits) {
  TestSwitch s;
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({}), "");
  ASSERT_EQ(builder.add_port({}), "");
  ASSERT_EQ(builder.add_tree(tree, max_contributions, PortNumber{0}, PortSet{0b10}), "");
  s.adopt(std::move(builder));
  s.give(parent, arm(7));
  auto c = contribution(7);
  c.word.count = max_contributions - 1;
  expect_absorbed(s.give(child, c));
  Frame last(c);
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(last.decoded().word.count, max_contributions);
  EXPECT_EQ(last.decoded().word.rc, static_cast<std::uint8_t>(ResultCode::contr_overflow));
}

TEST(Upward, MismatchReportsBothSourcesAndCountsOn) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7, Nid{0x11111}));
  auto offender = contribution(7, Nid{0x22222});
  offender.word.op = static_cast<std::uint8_t>(Opcode::flt_sum_nearest);
  expect_absorbed(s.give(other_child, offender));
  EXPECT_EQ(s.engine().op_mismatches.read(), 1U);
  EXPECT_EQ(s.descriptors()[0].rc, ResultCode::op_mismatch);
  // Frozen: neither a fitting contribution nor another offender changes the report.
  s.give(child, contribution(7, Nid{0x33333}));
  auto second = contribution(7, Nid{0x44444});
  second.word.op = static_cast<std::uint8_t>(Opcode::bit_or);
  Frame last(second);
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(s.engine().op_mismatches.read(), 2U);
  const wire::ReductionFrame result = last.decoded();
  EXPECT_EQ(result.word.rc, static_cast<std::uint8_t>(ResultCode::op_mismatch));
  EXPECT_EQ(result.word.opcode(), Opcode::int_sum);
  EXPECT_EQ(result.word.count, 4U);
  EXPECT_EQ(result.payload, (wire::Payload{0x1111100022222000U, 0, 0, 0}));
  EXPECT_EQ(result.source_nid, Nid{0x11111});
}

TEST(Upward, MismatchReportFromBelowIsTakenOver) {
  TestSwitch s;
  s.give(parent, arm(7));
  s.give(child, contribution(7));
  auto report = contribution(7);
  report.word.rc = static_cast<std::uint8_t>(ResultCode::op_mismatch);
  report.word.count = 3;
  report.payload = {0xAAAAA000BBBBB000, 0, 0, 0};
  Frame last(report);
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(last.decoded().payload, report.payload);
  EXPECT_EQ(last.decoded().word.rc, static_cast<std::uint8_t>(ResultCode::op_mismatch));
}

TEST(Upward, ResultCodeIsTheWorst) {
  TestSwitch s;
  s.give(parent, arm(7));
  Frame last;
  for (const ResultCode rc : {ResultCode::success, ResultCode::flt_invalid, ResultCode::unassigned,
                              ResultCode::flt_inexact}) {
    auto c = contribution(7);
    c.word.rc = static_cast<std::uint8_t>(rc);
    last = Frame(c);
    s.give(child, last);
  }
  EXPECT_EQ(last.decoded().word.rc, static_cast<std::uint8_t>(ResultCode::flt_invalid));
}

TEST(Upward, NanModeIsTheSwitchs) {
  // A signalling NaN and a number: the number in associative mode, a quiet NaN in IEEE mode.
  constexpr std::uint64_t signalling = 0x7FF0000000000001;
  constexpr std::uint64_t quiet = 0x7FF8000000000000;
  constexpr std::uint64_t one = 0x3FF0000000000000;
  for (const auto mode : {reduce::NanMode::associative, reduce::NanMode::ieee}) {
    TestSwitch s({.nan_mode = mode});
    s.give(parent, arm(7));
    auto c = contribution(7);
    c.word.op = static_cast<std::uint8_t>(Opcode::flt_minnum);
    c.word.count = 2;
    c.payload = {one, one, one, one};
    s.give(child, c);
    c.payload[1] = signalling;
    Frame last(c);
    expect_emitted(s.give(child, last), parent);
    EXPECT_EQ(last.decoded().payload[0], one);
    EXPECT_EQ(last.decoded().payload[1], mode == reduce::NanMode::ieee ? quiet : one);
  }
}

} // namespace
} // namespace tributary::core::test
