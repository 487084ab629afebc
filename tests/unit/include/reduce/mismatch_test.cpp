// Two opcodes in one reduction (4.8).
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tributary::test {
namespace {

Contribution from(std::uint32_t nid, Contribution c) {
  c.source = wire::FabricAddress::unicast(Nid{nid});
  return c;
}
constexpr std::uint64_t report(std::uint64_t stored_nid, std::uint64_t offender_nid) {
  return stored_nid << 44 | offender_nid << 12;
}

const Contribution sum_1 = from(1, in_all_lanes(Opcode::int_sum, 10));
const Contribution sum_4 = from(4, in_all_lanes(Opcode::int_sum, 40));
const Contribution or_2 = from(2, in_all_lanes(Opcode::bit_or, 20));
const Contribution xor_3 = from(3, in_all_lanes(Opcode::bit_xor, 30));

TEST(OpMismatch, ReportsBothAddressesAndKeepsTheFirstOpcode) {
  const Accumulator acc = reduced({sum_1, or_2});
  EXPECT_EQ(acc.result_code(), ResultCode::op_mismatch);
  EXPECT_EQ(acc.op, Opcode::int_sum);
  EXPECT_EQ(acc.payload, (wire::Payload{report(1, 2), 0, 0, 0}));
  EXPECT_EQ(acc.source, sum_1.source);
}

TEST(OpMismatch, FreezesTheDataAgainstEitherOpcode) {
  EXPECT_EQ(reduced({sum_1, or_2, sum_4}).payload, (wire::Payload{report(1, 2), 0, 0, 0}));
  EXPECT_EQ(reduced({sum_1, or_2, xor_3}).payload, (wire::Payload{report(1, 2), 0, 0, 0}));
  EXPECT_EQ(reduced({sum_1, or_2, or_2}).result_code(), ResultCode::op_mismatch);
}

TEST(OpMismatch, AnArrivingReportIsTakenOver) {
  const Contribution arriving = sent(reduced({or_2, xor_3}));
  for (const Contribution& first : {sum_1, from(9, in_all_lanes(Opcode::bit_or, 1))}) {
    const Accumulator acc = reduced({first, arriving});
    EXPECT_EQ(acc.result_code(), ResultCode::op_mismatch);
    EXPECT_EQ(acc.payload, (wire::Payload{report(2, 3), 0, 0, 0}));
    EXPECT_EQ(acc.op, first.op);
  }
}

TEST(OpMismatch, OfTwoReportsTheStoredOneStays) {
  const Contribution arriving = sent(reduced({or_2, xor_3}));
  EXPECT_EQ(reduced({sum_1, xor_3, arriving}).payload, (wire::Payload{report(1, 3), 0, 0, 0}));
}

TEST(OpMismatch, AReportThatComesFirstStaysWhateverItsOpcodeIs) {
  for (const Opcode op : wire::all_opcodes) {
    Contribution first = contribution(op, {report(5, 6), 0, 0, 0}, ResultCode::op_mismatch);
    // As bits of a double this payload may be anything; it must not be touched.
    first.payload[0] |= 0xFFF0000000000000;
    const Accumulator lone = reduced({first});
    EXPECT_EQ(lone.payload, first.payload) << wire::name_of(op);
    const Accumulator two = reduced({first, in_all_lanes(op, 7)});
    EXPECT_EQ(two.payload, first.payload) << wire::name_of(op);
    EXPECT_EQ(two.result_code(), ResultCode::op_mismatch);
  }
}

TEST(OpMismatch, OutranksEveryOtherCode) {
  Contribution overflowed = repsum_of(1.0);
  overflowed.rc = ResultCode::int_overflow;
  EXPECT_EQ(reduced({overflowed, or_2}).result_code(), ResultCode::op_mismatch);
  Contribution too_many = sum_1;
  too_many.rc = ResultCode::contr_overflow;
  EXPECT_EQ(reduced({too_many, or_2}).result_code(), ResultCode::op_mismatch);
}

TEST(OpMismatch, RoundingModesAreOpcodesOfTheirOwn) {
  EXPECT_EQ(
      reduced({in_all_lanes(Opcode::flt_sum_nearest, 0), in_all_lanes(Opcode::flt_sum_upward, 0)})
          .result_code(),
      ResultCode::op_mismatch);
}

TEST(OpMismatch, ACodeAboveItIsTreatedAsAReport) {
  const auto host_only = static_cast<ResultCode>(10);
  const Accumulator acc =
      reduced({sum_1, contribution(Opcode::int_sum, {77, 0, 0, 0}, host_only), sum_4});
  EXPECT_EQ(acc.payload, (wire::Payload{77, 0, 0, 0}));
  EXPECT_EQ(acc.result_code(), host_only);
}

} // namespace
} // namespace tributary::test
