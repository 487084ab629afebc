// What an engine sends upward, bit by bit (wire format page, 5.4 and 5.5).

#include "tests/unit/dataplane/core/test_switch.hpp"

namespace tributary::core::test {
namespace {

constexpr std::size_t signature_begin = 14 + 22;
constexpr std::size_t signature_end = signature_begin + 7;

/// A contribution with all header fields filled that a switch does not use.
Frame odd_frame(std::uint64_t signature, Nid source) {
  auto c = contribution(7, source);
  c.dscp = 0x2B;
  c.signature = signature;
  c.rank = 0xDEADBEEF;
  Frame f(c);
  f.set(wire::portals_offset::dscp_ecn, 0xAF);
  f.set(6, 0x5A);
  f.set(7, 0xA5);
  f.set(wire::portals_offset::ttl, 0x13);
  f.set(wire::portals_offset::protocol, 0x99);
  f.set(wire::portals_offset::command, 0x3D);
  f.set(21, 0x77);
  f.set(wire::portals_offset::request_length, 0x50);
  f.set(31, 0xEE);
  f.fix_checksum();
  return f;
}

TEST(Result, KeepsTheFirst50BytesOfTheFirstContributionWhereNobodySigns) {
  TestSwitch s;
  s.give(parent, arm(7));
  const Frame first = odd_frame(0, Nid{0x12345});
  s.give(child, Frame(first));
  s.give(child, contribution(7, Nid{2}));
  s.give(child, contribution(7, Nid{3}));
  Frame last(contribution(7, Nid{4}));
  expect_emitted(s.give(child, last), parent);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(last.bytes()[i], first.bytes()[i]) << i;
  }
  EXPECT_TRUE(wire::fabric_header_checksum_ok(last.portals()));
}

TEST(Result, CarriesTheSumOfTheSignaturesModulo2To56AndElseTheFirstHeader) {
  TestSwitch s;
  s.give(parent, arm(7));
  const Frame first = odd_frame(0xFFFFFFFFFFFFFE, Nid{0x12345});
  s.give(child, Frame(first));
  for (const std::uint64_t signature : {0xFFFFFFFFFFFFFFULL, 0x00123456789ABCULL}) {
    s.give(child, odd_frame(signature, Nid{2}));
  }
  Frame last = odd_frame(0x10, Nid{4});
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(last.decoded().signature,
            (0xFFFFFFFFFFFFFE + 0xFFFFFFFFFFFFFF + 0x123456789ABC + 0x10) & wire::signature_mask);
  for (std::size_t i = 0; i < 50; ++i) {
    if (i < signature_begin || i >= signature_end) {
      EXPECT_EQ(last.bytes()[i], first.bytes()[i]) << i;
    }
  }
  EXPECT_TRUE(wire::fabric_header_checksum_ok(last.portals()));
}

TEST(Result, SignatureRestartsWithEveryReduction) {
  TestSwitch s;
  for (const std::uint32_t sequence : {7U, 8U}) {
    s.give(parent, arm(sequence));
    auto c = contribution(sequence);
    c.signature = 5;
    c.word.count = 2;
    s.give(child, c);
    EXPECT_EQ(s.descriptors()[0].signature, 5U);
    Frame last(c);
    s.give(child, last);
    EXPECT_EQ(last.decoded().signature, 10U);
  }
}

TEST(Result, WordAndOperandsOfACompleteReduction) {
  TestSwitch s;
  auto a = arm(0x155);
  s.give(parent, a);
  auto c = contribution(0x155);
  c.word.resno = SequenceNumber{0x2AA};
  c.word.pad = 5;
  c.word.rc = 1;
  c.payload = {1, static_cast<std::uint64_t>(-2), 3, 0x1122334455667788};
  Frame last;
  for (int i = 0; i < 4; ++i) {
    last = Frame(c);
    s.give(child, last);
  }
  // seqno 0x155 | arm 0 | op 0x14 << 11 | count 4 << 17 | resno 0x155 << 37 | rc 1 << 47
  EXPECT_EQ(wire::load_be<std::uint64_t>(last.portals() + 40),
            0x155ULL | 0x14ULL << 11 | 4ULL << 17 | 0x155ULL << 37 | 1ULL << 47);
  EXPECT_EQ(wire::load_be<std::uint32_t>(last.portals() + 36), cookie.value);
  EXPECT_EQ(last.decoded().payload,
            (wire::Payload{4, static_cast<std::uint64_t>(-8), 12, 0x4488CD115599DE20}));
}

TEST(Result, RepsumCarriesMAndTheOverflowId) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto c = contribution(7);
  c.word.op = static_cast<std::uint8_t>(wire::Opcode::flt_repsum);
  c.word.m = -26;
  c.word.count = 2;
  c.payload = {0, 0, 0x7FFFFFFFFFFFFFFF, 5};
  s.give(child, c);
  Frame last(c);
  expect_emitted(s.give(child, last), parent);
  EXPECT_EQ(last.decoded().word.m, -26);
  EXPECT_EQ(last.decoded().word.overflow_id, 2U);
  EXPECT_EQ(last.decoded().word.rc, static_cast<std::uint8_t>(wire::ResultCode::int_overflow));
  EXPECT_EQ(last.decoded().payload, (wire::Payload{0, 0, 0xFFFFFFFFFFFFFFFE, 10}));
}

TEST(Result, BarrierDataIsZero) {
  TestSwitch s;
  s.give(parent, arm(7));
  auto c = contribution(7);
  c.word.op = static_cast<std::uint8_t>(wire::Opcode::barrier);
  Frame last;
  for (int i = 0; i < 4; ++i) {
    last = Frame(c);
    s.give(child, last);
  }
  EXPECT_EQ(last.decoded().payload, wire::Payload{});
}

TEST(Result, PartialHasTheSameLayoutWithTheCountItHas) {
  TestSwitch s;
  s.give(parent, arm(7));
  const Frame first = odd_frame(3, Nid{0x12345});
  s.give(child, Frame(first));
  auto second = contribution(7);
  second.signature = 4;
  second.word.rc = 1;
  second.word.count = 2;
  s.give(other_child, second);
  s.pass(30'000'000'000);
  ASSERT_EQ(s.emitted.size(), 1U);
  EXPECT_EQ(s.emitted[0].port, parent);
  const Frame& partial = s.emitted[0].frame;
  for (std::size_t i = 0; i < 50; ++i) {
    if (i < signature_begin || i >= signature_end) {
      EXPECT_EQ(partial.bytes()[i], first.bytes()[i]) << i;
    }
  }
  const wire::ReductionFrame f = partial.decoded();
  EXPECT_EQ(f.signature, 7U);
  EXPECT_EQ(wire::pack(f.word), 7ULL | 0x14ULL << 11 | 3ULL << 17 | 7ULL << 37 | 1ULL << 47);
  EXPECT_EQ(f.cookie, cookie);
  EXPECT_EQ(f.payload, (wire::Payload{2, 4, 6, 8}));
}

TEST(Result, CountOfOneWriterPerReductionIsTheGoldenFrame) {
  // The worked contribution of the wire format page, alone in a tree that waits for one: the output
  // equals the input.
  TestSwitch s;
  TablesBuilder builder;
  ASSERT_EQ(builder.add_port({}), "");
  ASSERT_EQ(builder.add_port({}), "");
  ASSERT_EQ(builder.add_tree(tree, 1, PortNumber{0}, PortSet{0b10}), "");
  s.adopt(std::move(builder));
  constexpr std::uint8_t golden[80] = {
      0x45, 0xd0, 0x00, 0x50, 0x04, 0x00, 0x00, 0x00, 0x5a, 0x77, 0xa3, 0xb7, 0x12, 0x34,
      0x50, 0x00, 0xff, 0x94, 0x55, 0xe7, 0xcd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x31, 0x00, 0x07, 0x00, 0x00, 0x00, 0x67, 0x7d, 0xaa, 0xbc, 0x00, 0x00,
      0x2a, 0xa0, 0x00, 0x02, 0xa1, 0x55, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x03, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
  Frame f(contribution(0));
  for (std::size_t i = 0; i < 80; ++i) {
    f.set(i, golden[i]);
  }
  auto a = arm(0x155);
  a.reduction = ReductionId{5};
  s.give(parent, a);
  const Frame before = f;
  expect_emitted(s.give(child, f), parent);
  EXPECT_EQ(f, before);
}

} // namespace
} // namespace tributary::core::test
