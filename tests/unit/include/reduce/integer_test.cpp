#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tributary::test {
namespace {

TEST(Bitwise, EachOperatorOnAllFourLanes) {
  const wire::Payload a{0b1100, 0xFF00FF00FF00FF00, 0, all_ones};
  const wire::Payload b{0b1010, 0xFFFF0000FFFF0000, all_ones, 1};
  EXPECT_EQ(reduced({contribution(Opcode::bit_and, a), contribution(Opcode::bit_and, b)}).payload,
            (wire::Payload{0b1000, 0xFF000000FF000000, 0, 1}));
  EXPECT_EQ(reduced({contribution(Opcode::bit_or, a), contribution(Opcode::bit_or, b)}).payload,
            (wire::Payload{0b1110, 0xFFFFFF00FFFFFF00, all_ones, all_ones}));
  EXPECT_EQ(reduced({contribution(Opcode::bit_xor, a), contribution(Opcode::bit_xor, b)}).payload,
            (wire::Payload{0b0110, 0x00FFFF0000FFFF00, all_ones, all_ones - 1}));
}

TEST(IntMinMax, CompareSigned) {
  const wire::Payload a{word(-1), word(INT64_MIN), 5, 0};
  const wire::Payload b{1, word(INT64_MAX), 5, word(-7)};
  EXPECT_EQ(reduced({contribution(Opcode::int_min, a), contribution(Opcode::int_min, b)}).payload,
            (wire::Payload{word(-1), word(INT64_MIN), 5, word(-7)}));
  EXPECT_EQ(reduced({contribution(Opcode::int_max, a), contribution(Opcode::int_max, b)}).payload,
            (wire::Payload{1, word(INT64_MAX), 5, 0}));
}

TEST(IntSum, WrapsAndSaysSoForASingleLane) {
  for (std::size_t lane = 0; lane < 4; ++lane) {
    for (const std::int64_t limit : {INT64_MAX, INT64_MIN}) {
      Contribution a = in_all_lanes(Opcode::int_sum, 1);
      Contribution b = in_all_lanes(Opcode::int_sum, 2);
      a.payload[lane] = word(limit);
      b.payload[lane] = word(limit > 0 ? 1 : -1);
      const Accumulator acc = reduced({a, b});
      EXPECT_EQ(acc.result_code(), ResultCode::int_overflow) << "lane " << lane;
      EXPECT_EQ(acc.payload[lane], word(limit) + b.payload[lane]);
      EXPECT_EQ(acc.payload[(lane + 1) % 4], 3U);
    }
  }
}

TEST(IntSum, UpToTheLimitsThereIsNoOverflow) {
  const auto op = Opcode::int_sum;
  const auto acc =
      reduced({contribution(op, {word(INT64_MAX), word(INT64_MIN), word(INT64_MAX), 0}),
               contribution(op, {0, word(INT64_MAX), word(INT64_MIN), 0})});
  EXPECT_EQ(acc.result_code(), ResultCode::success);
  EXPECT_EQ(acc.payload, (wire::Payload{word(INT64_MAX), word(-1), word(-1), 0}));
}

TEST(IntSum, AnOverflowSticksWhenTheSumComesBack) {
  const auto op = Opcode::int_sum;
  const auto acc =
      reduced({in_all_lanes(op, word(INT64_MAX)), in_all_lanes(op, 1), in_all_lanes(op, word(-1))});
  EXPECT_EQ(acc.payload[0], word(INT64_MAX));
  EXPECT_EQ(acc.result_code(), ResultCode::int_overflow);
}

TEST(Barrier, DataIsAlwaysFourZeros) {
  const Contribution noisy = in_all_lanes(Opcode::barrier, 0x1234);
  EXPECT_EQ(reduced({noisy}).payload, wire::Payload{});
  EXPECT_EQ(reduced({noisy, noisy}).payload, wire::Payload{});
}

} // namespace
} // namespace tributary::test
