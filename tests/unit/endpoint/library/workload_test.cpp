// The stress worker's arithmetic against the library's, for every operator, with the operands of a
// group combined in random trees: they share no code, and the result may depend on no order.
#include "lib/workload/workload.hpp"

#include "endpoint/collective/piece_codec.hpp"
#include "endpoint/library/operators.hpp"
#include "tributary/reduce/reducer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace tributary::workload {
namespace {

reduce::Contribution as_contribution(const reduce::Accumulator& a) {
  reduce::Contribution c;
  c.payload = a.payload;
  c.op = a.op;
  c.rc = a.result_code();
  c.m = a.m;
  c.overflow_id = a.overflow_id;
  return c;
}

/// Combines the operands two by two in a random order, as some tree of engines might.
reduce::Contribution combine_randomly(std::vector<reduce::Contribution> operands,
                                      std::mt19937& random) {
  for (;;) {
    std::shuffle(operands.begin(), operands.end(), random);
    reduce::Accumulator accumulator;
    reduce::start(accumulator, operands.back());
    operands.pop_back();
    if (!operands.empty()) {
      reduce::combine(accumulator, operands.back(), reduce::NanMode::associative);
      operands.pop_back();
    }
    if (operands.empty()) {
      return as_contribution(accumulator);
    }
    operands.push_back(as_contribution(accumulator));
  }
}

class EveryKind : public testing::TestWithParam<Kind> {};

TEST_P(EveryKind, ReferenceAndLibraryAgreeWhateverTheOrder) {
  const Kind kind = GetParam();
  const auto type = library::element_type(kind.type).value();
  const auto opcode = library::opcode_for(kind.op, type).value();
  constexpr std::size_t length = 5;
  const std::size_t width = bytes_of(kind.type);
  std::mt19937 random(1);
  std::size_t codes_seen = 0;
  for (const std::uint32_t size : {1U, 2U, 3U, 16U}) {
    const Workload workload(/*seed=*/size, size, length);
    for (std::uint64_t iteration = 0; iteration < 500; ++iteration) {
      const Expected expected = workload.expected(kind, iteration);
      std::vector<std::vector<std::byte>> operands;
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        operands.push_back(workload.operand(kind, iteration, rank));
      }
      std::vector<std::byte> elements(length * width);
      auto code = wire::ResultCode::success;
      const std::size_t step = collective::elements_per_piece(opcode, type);
      for (std::size_t at = 0; at < length; at += step) {
        const std::size_t count = std::min(step, length - at);
        std::vector<reduce::Contribution> contributions;
        for (const auto& operand : operands) {
          contributions.push_back(
              collective::encode_piece(opcode, type, &operand[at * width], count));
        }
        const reduce::Contribution result = combine_randomly(contributions, random);
        collective::Completion piece;
        piece.payload = result.payload;
        piece.op = result.op;
        piece.m = result.m;
        collective::decode_piece(piece, type, &elements[at * width], count);
        code = wire::worse(code, result.rc);
      }
      ASSERT_EQ(elements, expected.elements) << "size " << size << ", iteration " << iteration;
      ASSERT_EQ(static_cast<int>(code), expected.code)
          << "size " << size << ", iteration " << iteration;
      codes_seen |= std::size_t{1} << expected.code;
    }
  }
  const bool sums_doubles = wire::is_flt_sum(opcode);
  EXPECT_EQ((codes_seen >> TRIBUTARY_INEXACT & 1U) != 0, sums_doubles)
      << "operands that are rounded take part in sums";
}

std::vector<Kind> kinds_with_elements() {
  std::vector<Kind> kinds = all_kinds();
  std::erase_if(kinds, [](const Kind& kind) { return kind.is_barrier; });
  return kinds;
}

/// As operators without arithmetic of the workload's own are tested.
INSTANTIATE_TEST_SUITE_P(OneRank, EveryKind,
                         testing::Values(Kind{"sum", TRIBUTARY_SUM, TRIBUTARY_INT64, false, true},
                                         Kind{"min", TRIBUTARY_MIN, TRIBUTARY_INT64, false, true},
                                         Kind{"and", TRIBUTARY_AND, TRIBUTARY_INT64, false, true},
                                         Kind{"max_of_doubles", TRIBUTARY_MAX_NAN, TRIBUTARY_DOUBLE,
                                              false, true}),
                         [](const auto& kind) { return std::string(kind.param.name); });
INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind, testing::ValuesIn(kinds_with_elements()),
                         [](const auto& kind) {
                           std::string name(kind.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Workload, CoversEveryOpcode) {
  std::uint64_t seen = 1; // BARRIER
  for (const Kind& kind : kinds_with_elements()) {
    const auto opcode =
        library::opcode_for(kind.op, library::element_type(kind.type).value()).value();
    seen |= std::uint64_t{1} << static_cast<unsigned>(opcode);
  }
  for (const wire::Opcode op : wire::all_opcodes) {
    EXPECT_NE(seen >> static_cast<unsigned>(op) & 1U, 0U) << wire::name_of(op);
  }
}

TEST(Workload, AnotherSeedIterationOrRankGivesOtherOperands) {
  const Kind kind = kinds_with_elements().front();
  const Workload a(1, 4, 8);
  const Workload b(2, 4, 8);
  EXPECT_EQ(a.operand(kind, 3, 2), a.operand(kind, 3, 2));
  EXPECT_NE(a.operand(kind, 3, 2), b.operand(kind, 3, 2));
  EXPECT_NE(a.operand(kind, 3, 2), a.operand(kind, 4, 2));
  EXPECT_NE(a.operand(kind, 3, 2), a.operand(kind, 3, 1));
}

} // namespace
} // namespace tributary::workload
