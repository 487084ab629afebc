// The contribution that changes nothing (2.2).
#include "tests/unit/include/reduce/bit_patterns.hpp"
#include "tests/unit/include/reduce/contributions.hpp"
#include "tributary/reduce/identity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tributary::test {
namespace {

/// An operand that the identity must preserve: no code of its own, and no subnormal where the
/// operator flushes.
Contribution operand(Random& random, Opcode op) {
  Contribution c = random_contribution(random, op);
  c.rc = ResultCode::success;
  c.overflow_id = 0;
  if (op == Opcode::flt_repsum) {
    // Any double: below the smallest M nothing has to be preserved.
    return repsum_of(std::bit_cast<double>(random_word(random, random())));
  }
  if (wire::is_flt_sum(op) && wire::flushes_to_zero(op)) {
    for (auto& w : c.payload) {
      if (std::fpclassify(std::bit_cast<double>(w)) == FP_SUBNORMAL) {
        w = minus_zero;
      }
    }
  }
  return c;
}

TEST(Identity, ChangesNoOperandOnEitherSide) {
  Random random(seed());
  for (const Opcode op : wire::all_opcodes) {
    for (int i = 0; i < 5'000; ++i) {
      const Contribution c = operand(random, op);
      const Accumulator alone = reduced({c});
      for (const Accumulator& acc :
           {reduced({c, reduce::identity(op)}), reduced({reduce::identity(op), c})}) {
        ASSERT_EQ(acc.payload, alone.payload) << wire::name_of(op);
        ASSERT_EQ(acc.result_code(), alone.result_code()) << wire::name_of(op);
        ASSERT_EQ(acc.m, alone.m) << wire::name_of(op);
      }
    }
  }
}

TEST(Identity, OfTwoIdentitiesIsTheIdentity) {
  for (const Opcode op : wire::all_opcodes) {
    const Contribution e = reduce::identity(op);
    EXPECT_EQ(reduced({e, e}).payload, e.payload) << wire::name_of(op);
    EXPECT_EQ(reduced({e, e}).m, e.m) << wire::name_of(op);
    EXPECT_EQ(reduced({e, e}).result_code(), ResultCode::success) << wire::name_of(op);
    EXPECT_EQ(e.op, op);
  }
}

TEST(Identity, HasTheValuesOfTheTable) {
  const auto words = [](Opcode op) { return reduce::identity(op).payload; };
  const auto all = [](std::uint64_t w) { return wire::Payload{w, w, w, w}; };
  EXPECT_EQ(words(Opcode::barrier), all(0));
  EXPECT_EQ(words(Opcode::bit_and), all(all_ones));
  EXPECT_EQ(words(Opcode::int_min), all(word(INT64_MAX)));
  EXPECT_EQ(words(Opcode::int_max), all(word(INT64_MIN)));
  EXPECT_EQ(words(Opcode::int_minmaxloc),
            (wire::Payload{word(INT64_MAX), UINT64_MAX, word(INT64_MIN), UINT64_MAX}));
  EXPECT_EQ(words(Opcode::flt_min), all(positive_infinity));
  EXPECT_EQ(words(Opcode::flt_max), all(negative_infinity));
  EXPECT_EQ(words(Opcode::flt_minnum), all(quiet_nan));
  EXPECT_EQ(words(Opcode::flt_minmaxnumloc),
            (wire::Payload{quiet_nan, UINT64_MAX, quiet_nan, UINT64_MAX}));
  EXPECT_EQ(words(Opcode::flt_sum_nearest), all(minus_zero));
  EXPECT_EQ(words(Opcode::flt_sum_upward), all(minus_zero));
  EXPECT_EQ(words(Opcode::flt_sum_downward), all(0));
  EXPECT_EQ(words(Opcode::flt_sum_toward_zero), all(minus_zero));
  EXPECT_EQ(words(Opcode::flt_sum_ftz_downward), all(0));
  EXPECT_EQ(reduce::identity(Opcode::flt_repsum).m, -26);
}

} // namespace
} // namespace tributary::test
