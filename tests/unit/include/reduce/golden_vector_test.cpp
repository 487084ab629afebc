// The vectors of the wire format page: reproducible sums (4.7), and the table of section 4's
// requirements where the public host code differs (7).
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace tributary::test {
namespace {

struct SumVector {
  std::string name;
  std::vector<double> operands;
  int m;
  wire::Payload limbs;
  bool inexact;
  std::uint64_t result; ///< the double it converts back to
};

std::vector<double> generated(int count, const std::function<double(int)>& term) {
  std::vector<double> terms;
  for (int i = 0; i < count; ++i) {
    terms.push_back(term(i));
  }
  return terms;
}
SumVector single(const std::string& name, double v, int m, const wire::Payload& limbs) {
  return {name, {v}, m, limbs, false, bits(v)};
}

std::vector<SumVector> sum_vectors() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto p = [](int e) { return std::ldexp(1.0, e); };
  constexpr std::uint64_t full = 0xffffffffff;
  return {
      single("one", 1.0, 0, {0, 0, 0, 1}),
      single("minus_one", -1.0, 0, {0, 0, 0, 0xffffffffffffffff}),
      single("half", 0.5, -1, {0, 0, 0, 0x8000000000}),
      single("tenth", 0.1, -1, {0, 0, 0x999a000000, 0x1999999999}),
      single("two_to_40", p(40), 1, {0, 0, 0, 1}),
      single("pi", std::numbers::pi, 0, {0, 0xa300000000, 0x243f6a8885, 3}),
      single("minus_pi", -std::numbers::pi, 0,
             {0, 0xffffff5d00000000, 0xffffffdbc095777b, 0xfffffffffffffffd}),
      single("1e300", 1e300, 24, {0, 0, 0x759c000000, 0x17e43c8800}),
      single("largest", DBL_MAX, 25, {0, 0, 0xfffffff800, 0xffffff}),
      single("smallest_normal", DBL_MIN, -26, {0, 0, 0, 0x40000}),
      single("smallest_subnormal", 5e-324, -26, {0, 0, 0x40, 0}),
      {"1_and_2_to_minus_60", {1, p(-60)}, 0, {0, 0x100000, 0, 1}, false, 0x3ff0000000000000},
      {"1_and_2_to_minus_120", {1, p(-120)}, 0, {1, 0, 0, 1}, false, 0x3ff0000000000000},
      {"1_and_2_to_minus_121", {1, p(-121)}, 0, {0, 0, 0, 1}, true, 0x3ff0000000000000},
      {"2_to_100_and_1", {p(100), 1}, 2, {0, 1, 0, 0x100000}, false, 0x4630000000000000},
      {"0.1_and_0.2",
       {0.1, 0.2},
       -1,
       {0, 0, 0xccce000000, 0x4ccccccccc},
       false,
       0x3fd3333333333334},
      {"1e300_cancelled", {1e300, -1e300}, 24, {0, 0, 0, 0}, false, 0},
      {"largest_twice",
       {DBL_MAX, DBL_MAX},
       25,
       {0, 0, 0x1fffffff000, 0x1fffffe},
       false,
       0x7ff0000000000000},
      {"opposite_infinities", {infinity, -infinity}, 127, {0, 0, 0, 0}, false, 0x7ff8000000000000},
      {"ten_tenths",
       std::vector<double>(10, 0.1),
       -1,
       {0, 0, 0x60004000000, 0xfffffffffa},
       false,
       0x3ff0000000000000},
      {"1e16_and_1_and_1",
       {1e16, 1, 1},
       1,
       {0, 0, 0xf26fc10002, 0x2386},
       false,
       0x4341c37937e08001},
      {"1e100_and_1_cancelled", {1e100, 1, -1e100}, 8, {0, 0, 0, 0}, true, 0},
      {"alternating_harmonic",
       generated(1000, [](int i) { return (i % 2 == 0 ? 1.0 : -1.0) / (i + 1); }),
       0,
       {0, 0x5b123ec0000, 0xffffffb151578de4, 1},
       false,
       0x3fe62a2af1bd3624},
      {"powers_to_159", generated(160, p), 3, {full, full, full, full}, false, 0x49f0000000000000},
      {"powers_to_160", generated(161, p), 4, {full, full, full, 1}, true, 0x4a00000000000000},
  };
}

std::vector<Contribution> contributions_of(const std::vector<double>& values) {
  std::vector<Contribution> result;
  for (const double v : values) {
    result.push_back(repsum_of(v));
  }
  return result;
}

TEST(GoldenReproducibleSum, LimbsExponentInexactAndDouble) {
  for (const SumVector& v : sum_vectors()) {
    const Accumulator acc = reduced(contributions_of(v.operands));
    EXPECT_EQ(acc.payload, v.limbs) << v.name;
    EXPECT_EQ(int{acc.m}, v.m) << v.name;
    EXPECT_EQ(acc.repsum_inexact, v.inexact) << v.name;
    EXPECT_FALSE(acc.repsum_overflow) << v.name;
    EXPECT_EQ(bits(reduce::to_double(sum_of(acc))), v.result) << v.name;
  }
}

TEST(GoldenReproducibleSum, OppositeInfinitiesAreInvalid) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(reduced({repsum_of(infinity), repsum_of(-infinity)}).result_code(),
            ResultCode::flt_invalid);
  EXPECT_EQ(reduced({repsum_of(-infinity), repsum_of(infinity)}).result_code(),
            ResultCode::flt_invalid);
}

struct DemandedRow {
  Opcode op;
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t result;
  int rc;
};

TEST(GoldenFloat, WhatSectionFourDemandsWherePublicHostCodeDiffers) {
  const DemandedRow rows[] = {
      {Opcode::flt_sum_nearest, positive_infinity, negative_infinity, quiet_nan, 4},
      {Opcode::flt_sum_nearest, signalling_nan, bits(1), quiet_nan, 4},
      {Opcode::flt_sum_nearest, quiet_nan, bits(1), quiet_nan, 0},
      {Opcode::flt_sum_nearest, bits(1e16), bits(1), 0x4341c37937e08000, 1},
      {Opcode::flt_sum_nearest, bits(1.7e308), bits(1.7e308), positive_infinity, 3},
      {Opcode::flt_sum_ftz_nearest, bits(3e-308), bits(-2.9e-308), 0, 1},
      {Opcode::flt_minnum, quiet_nan, bits(1), bits(1), 0},
      {Opcode::flt_minnum, signalling_nan, bits(1), bits(1), 4},
      {Opcode::flt_minnum, 0, minus_zero, minus_zero, 0},
      {Opcode::flt_maxnum, minus_zero, 0, 0, 0},
      {Opcode::flt_maxnum, positive_infinity, bits(1), positive_infinity, 0},
  };
  for (const DemandedRow& row : rows) {
    for (const bool swapped : {false, true}) {
      const Accumulator acc = reduced({in_all_lanes(row.op, swapped ? row.b : row.a),
                                       in_all_lanes(row.op, swapped ? row.a : row.b)});
      const auto r = row.result;
      EXPECT_EQ(acc.payload, (wire::Payload{r, r, r, r}))
          << wire::name_of(row.op) << std::hex << ' ' << row.a << ' ' << row.b;
      EXPECT_EQ(static_cast<int>(acc.result_code()), row.rc)
          << wire::name_of(row.op) << std::hex << ' ' << row.a << ' ' << row.b;
    }
  }
}

TEST(GoldenInteger, ThePayloadOfTheWorkedFrameSums) {
  const wire::Payload frame{1, word(-2), 3, 0x1122334455667788};
  const Contribution c = contribution(Opcode::int_sum, frame);
  EXPECT_EQ(reduced({c, c}).payload, (wire::Payload{2, word(-4), 6, 0x22446688AACCEF10}));
}

} // namespace
} // namespace tributary::test
