// Results that must not depend on the order of the contributions, nor on where in a tree they are
// combined: random groups are reduced one after the other, and again shuffled and through random
// trees of engines, each sending a frame to the next.
#include "tests/unit/include/reduce/bit_patterns.hpp"
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::test {
namespace {

/// Reduces through engines: any two or more frames become one, until one is left.
Accumulator through_a_tree(std::vector<Contribution> frames, Random& random) {
  std::shuffle(frames.begin(), frames.end(), random);
  while (true) {
    const auto take = std::min<std::size_t>(frames.size(), 1 + random() % 4);
    const std::vector<Contribution> group(frames.end() - static_cast<std::ptrdiff_t>(take),
                                          frames.end());
    frames.resize(frames.size() - take);
    const Accumulator acc = reduced(group);
    if (frames.empty()) {
      return acc;
    }
    frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(random() % (frames.size() + 1)),
                  sent(acc));
  }
}

/// What a host sends: no code, and a tuple that holds one value and index twice.
Contribution from_host(Random& random, Opcode op, std::uint64_t common) {
  Contribution c = random_contribution(random, op);
  c.rc = ResultCode::success;
  c.overflow_id = 0;
  if (op == Opcode::flt_repsum) {
    return repsum_of(std::bit_cast<double>(random_word(random, common)));
  }
  for (auto& w : c.payload) {
    w = random_word(random, common);
  }
  if (wire::is_minmaxloc(op)) {
    c.payload[1] = random() % 16;
    c.payload[2] = c.payload[0];
    c.payload[3] = c.payload[1];
  }
  return c;
}

class OrderIndependence : public testing::TestWithParam<Opcode> {};

INSTANTIATE_TEST_SUITE_P(Operators, OrderIndependence,
                         testing::Values(Opcode::barrier, Opcode::bit_and, Opcode::bit_or,
                                         Opcode::bit_xor, Opcode::int_min, Opcode::int_max,
                                         Opcode::int_minmaxloc, Opcode::int_sum, Opcode::flt_min,
                                         Opcode::flt_max, Opcode::flt_minmaxloc, Opcode::flt_minnum,
                                         Opcode::flt_maxnum, Opcode::flt_minmaxnumloc,
                                         Opcode::flt_repsum),
                         [](const auto& p) { return std::string(wire::name_of(p.param)); });

TEST_P(OrderIndependence, DataIsTheSameThroughAnyTree) {
  const Opcode op = GetParam();
  Random random(seed() ^ static_cast<std::uint64_t>(op));
  for (int round = 0; round < 2'000; ++round) {
    std::vector<Contribution> group(2 + random() % 15);
    const std::uint64_t common = random_word(random, 0);
    for (Contribution& c : group) {
      c = from_host(random, op, common);
    }
    const Accumulator in_order = reduced(group);
    const Accumulator shuffled = through_a_tree(group, random);
    ASSERT_EQ(shuffled.payload, in_order.payload) << "round " << round;
    ASSERT_EQ(shuffled.m, in_order.m) << "round " << round;
    // Whether an intermediate sum wraps or a limb is dropped does depend on the order.
    if (op != Opcode::flt_repsum && op != Opcode::int_sum) {
      ASSERT_EQ(shuffled.result_code(), in_order.result_code()) << "round " << round;
    }
  }
}

TEST(OrderDependence, OfAFloatSumIsRealAndSoTheTestAboveCanFail) {
  const auto op = Opcode::flt_sum_nearest;
  const Contribution huge = in_all_lanes(op, bits(1e16));
  const Contribution one = in_all_lanes(op, bits(1));
  const Contribution minus_huge = in_all_lanes(op, bits(-1e16));
  EXPECT_NE(reduced({huge, one, minus_huge}).payload, reduced({huge, minus_huge, one}).payload);
}

TEST(OrderDependence, OfTheInexactFlagOfAReproducibleSum) {
  // Limbs that cancel before a larger operand arrives are not dropped.
  const Contribution tiny = repsum_of(0x1p-200);
  const Contribution minus_tiny = repsum_of(-0x1p-200);
  const Contribution one = repsum_of(1);
  EXPECT_EQ(reduced({tiny, minus_tiny, one}).result_code(), ResultCode::success);
  EXPECT_EQ(reduced({tiny, one, minus_tiny}).result_code(), ResultCode::repsum_inexact);
  EXPECT_EQ(reduced({tiny, one, minus_tiny}).payload, reduced({tiny, minus_tiny, one}).payload);
}

} // namespace
} // namespace tributary::test
