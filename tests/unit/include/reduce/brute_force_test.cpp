// The four-lane kernel against the scalar reference: more than ten million combinations over all
// operators, in chains of one start and four combines, over random and special bit patterns.
#include "tests/unit/include/reduce/bit_patterns.hpp"
#include "tests/unit/include/reduce/scalar_reference.hpp"
#include "tributary/reduce/reducer.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ios>
#include <sstream>
#include <string>
#include <vector>

namespace tributary::test {
namespace {

using reduce::Accumulator;
using reduce::Contribution;
using reduce::NanMode;
using wire::Opcode;

struct Case {
  Opcode op;
  NanMode mode;
};

constexpr bool depends_on_mode(Opcode op) {
  return op == Opcode::flt_minnum || op == Opcode::flt_maxnum || op == Opcode::flt_minmaxnumloc;
}
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Opcode op : wire::all_opcodes) {
    cases.push_back({op, NanMode::associative});
    if (depends_on_mode(op)) {
      cases.push_back({op, NanMode::ieee});
    }
  }
  return cases;
}
std::string case_name(const testing::TestParamInfo<Case>& info) {
  return std::string(wire::name_of(info.param.op)) +
         (info.param.mode == NanMode::ieee ? "_ieee" : "");
}

constexpr std::size_t case_count = 26;
constexpr std::size_t chain_length = 4;
constexpr std::size_t chains = 100'000 / TRIBUTARY_SEED_DIVISOR;
constexpr std::size_t least_combinations = 10'000'000;
static_assert(case_count * chains * chain_length * TRIBUTARY_SEED_DIVISOR >= least_combinations);

std::string described(const Contribution& c) {
  std::ostringstream out;
  out << wire::name_of(c.op) << std::hex;
  for (const std::uint64_t word : c.payload) {
    out << ' ' << word;
  }
  out << std::dec << " rc " << static_cast<int>(c.rc) << " M " << int{c.m} << " oid "
      << int{c.overflow_id};
  return out.str();
}

class BruteForce : public testing::TestWithParam<Case> {};

TEST(BruteForceCases, CoverEveryOperatorAndMode) { EXPECT_EQ(all_cases().size(), case_count); }

TEST_P(BruteForce, FourLaneKernelEqualsScalarReference) {
  const auto [op, mode] = GetParam();
  Random random(seed() + static_cast<std::uint64_t>(op) * 2 + static_cast<std::uint64_t>(mode));
  std::uint64_t combinations = 0;
  std::uint64_t changed_by_a_nan_or_code = 0;
  for (std::size_t chain = 0; chain < chains; ++chain) {
    Contribution last = random_contribution(random, op);
    std::string history;
    Accumulator acc;
    reduce::start(acc, last);
    reference::Reduction expected(last);
    std::vector<Contribution> operands{last};
    for (std::size_t i = 0; i <= chain_length; ++i) {
      const bool same = acc.payload == expected.data() &&
                        static_cast<int>(acc.result_code()) == expected.code() &&
                        (op != Opcode::flt_repsum || expected.code() >= 8 ||
                         (acc.m == expected.m() && acc.overflow_id == expected.overflow_limb()));
      if (!same) {
        for (const auto& operand : operands) {
          history += described(operand) + '\n';
        }
        Contribution is{.payload = acc.payload,
                        .op = acc.op,
                        .rc = acc.result_code(),
                        .m = acc.m,
                        .overflow_id = acc.overflow_id,
                        .source = acc.source};
        Contribution should = is;
        should.payload = expected.data();
        should.rc = static_cast<wire::ResultCode>(expected.code());
        should.m = static_cast<std::int8_t>(expected.m());
        should.overflow_id = static_cast<std::uint8_t>(expected.overflow_limb());
        FAIL() << "operands\n"
               << history << "is        " << described(is) << "\nshould be " << described(should);
      }
      if (i == chain_length) {
        break;
      }
      // Now and then a stray opcode, so that mismatch reports occur, too.
      const Opcode next = random() % 512 == 0 ? Opcode::bit_or : op;
      last = random_contribution(random, next, &last);
      operands.push_back(last);
      reduce::combine(acc, last, mode);
      expected.add(last, mode);
      ++combinations;
    }
    changed_by_a_nan_or_code += acc.result_code() != wire::ResultCode::success ? 1 : 0;
  }
  EXPECT_EQ(combinations, chains * chain_length);
  EXPECT_GT(changed_by_a_nan_or_code, chains / 100) << "the operands met no special case";
  RecordProperty("combinations", static_cast<int>(combinations));
}

INSTANTIATE_TEST_SUITE_P(Operators, BruteForce, testing::ValuesIn(all_cases()), case_name);

} // namespace
} // namespace tributary::test
