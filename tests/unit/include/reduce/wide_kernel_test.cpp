// The kernels of wide frames against the reference, for every operator, form, NaN mode and
// instruction set of this machine: bits and code, of vectors of one element to 8 KiB, at any
// address.
#include "tests/unit/include/reduce/contributions.hpp"
#include "tests/unit/include/reduce/wide_operands.hpp"
#include "tributary/reduce/reducer.hpp"
#include "tributary/reduce/wide_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::test::wide {
namespace {

using reduce::InstructionSet;
using reduce::WideKernel;
using reduce::WideKernels;

std::vector<WideKernels> kernels_of_this_machine(NanMode mode) {
  std::vector<WideKernels> kernels;
  for (const InstructionSet set : reduce::all_instruction_sets) {
    if (reduce::is_available(set)) {
      kernels.emplace_back(mode, set);
    }
  }
  return kernels;
}

struct Outcome {
  Vector elements;
  int code = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// The frames sent for all these contributions: by `end` into the last one's frame, and by `emit`.
struct Left {
  Outcome ended;
  Outcome emitted;
};

Left by_kernel(const WideKernel& kernel, Opcode op, Form form, const std::vector<Vector>& operands,
               std::size_t offset) {
  const std::size_t count = operands.front().size();
  const std::size_t bytes = count * wire::element_bytes(form);
  const Guarded slot(reduce::wide_slot_bytes(form, op, bytes), 0);
  const Guarded frame(bytes, offset);
  Left left;
  int code = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    put(frame.data(), form, operands[i]);
    if (i + 1 == operands.size() && i != 0) {
      const ResultCode ended = kernel.end(slot.data(), frame.span());
      left.ended = {taken(frame.data(), form, count), std::max(code, static_cast<int>(ended))};
      put(frame.data(), form, operands[i]);
    }
    const ResultCode step =
        i == 0 ? kernel.begin(slot.data(), frame.span()) : kernel.add(slot.data(), frame.span());
    code = std::max(code, static_cast<int>(step));
    EXPECT_EQ(taken(frame.data(), form, count), operands[i]) << "begin and add only read frames";
  }
  const ResultCode emitted = kernel.emit(slot.data(), frame.span());
  left.emitted = {taken(frame.data(), form, count), std::max(code, static_cast<int>(emitted))};
  EXPECT_TRUE(slot.intact());
  EXPECT_TRUE(frame.intact());
  return left;
}

/// The first element that differs, for a message that can be read.
std::string difference(const Outcome& got, const Outcome& expected,
                       const std::vector<Vector>& operands) {
  std::ostringstream out;
  out << "code " << got.code << ", expected " << expected.code << std::hex;
  for (std::size_t i = 0; i < got.elements.size(); ++i) {
    if (got.elements[i] != expected.elements[i] || got.elements.size() == 1) {
      out << "; element " << i << " is " << got.elements[i] << ", expected " << expected.elements[i]
          << " of";
      for (const Vector& v : operands) {
        out << ' ' << v[i];
      }
      break;
    }
  }
  return out.str();
}

/// All operators of a form but those of tuples and reproducible sums.
struct Case {
  Form form;
  Opcode op;
  NanMode mode;
};
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Form form : wire::wide_forms) {
    for (const Opcode op : wire::all_opcodes) {
      if (form == Form::tuple || form == Form::repsum || !wire::carries(form, op)) {
        continue;
      }
      cases.push_back({form, op, NanMode::associative});
      if (op == Opcode::flt_minnum || op == Opcode::flt_maxnum) {
        cases.push_back({form, op, NanMode::ieee});
      }
    }
  }
  return cases;
}

/// Reduces vectors of one kind by the reference and by every instruction set; the reference's code.
int expect_equal(const Case& c, const std::vector<WideKernels>& kernels, Random& random,
                 std::size_t count, Kind kind, std::size_t contributions) {
  std::vector<Vector> operands;
  operands.push_back(random_vector(random, c.op, c.form, kind, Vector(count)));
  Reference reference(c.op, c.form, c.mode, operands.front());
  while (operands.size() < contributions) {
    operands.push_back(random_vector(random, c.op, c.form, kind, operands.back()));
    reference.add(operands.back());
  }
  Outcome expected;
  expected.elements = reference.result(expected.code);
  const std::size_t offset = random() % 64;
  for (const WideKernels& set : kernels) {
    const Left left = by_kernel(set.of(c.op, c.form), c.op, c.form, operands, offset);
    const auto where = [&](const Outcome& got) {
      return std::string(name_of(set.instruction_set())) + " of " + std::to_string(count) +
             ", kind " + std::to_string(static_cast<int>(kind)) + ": " +
             difference(got, expected, operands);
    };
    EXPECT_EQ(left.emitted, expected) << "emit, " << where(left.emitted);
    if (contributions > 1) {
      EXPECT_EQ(left.ended, expected) << "end, " << where(left.ended);
    }
  }
  return expected.code;
}

class WideKernelsEqualTheReference : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Operators, WideKernelsEqualTheReference, testing::ValuesIn(all_cases()),
                         [](const auto& p) {
                           return std::string(wire::name_of(p.param.op)) + "_" +
                                  std::string(wire::name_of(p.param.form)) +
                                  (p.param.mode == NanMode::ieee ? "_ieee" : "");
                         });

TEST_P(WideKernelsEqualTheReference, ForVectorsOfEveryKindAndLength) {
  const Case c = GetParam();
  const auto kernels = kernels_of_this_machine(c.mode);
  Random random(seed() ^ static_cast<std::uint64_t>(c.op) << 8 ^
                static_cast<std::uint64_t>(c.form));
  std::set<int> codes;
  // One element: its code is checked separately.
  for (int i = 0; i < 1'000 / TRIBUTARY_SEED_DIVISOR; ++i) {
    codes.insert(expect_equal(c, kernels, random, 1, Kind::anything, 1 + random() % 3));
    ASSERT_FALSE(HasFailure());
  }
  // Full vectors and remainders of every instruction set.
  for (std::size_t count = 2; count < 200; count += 1 + count / 8) {
    for (const Kind kind : {Kind::exact, Kind::numbers, Kind::large, Kind::anything}) {
      codes.insert(expect_equal(c, kernels, random, count, kind, 2 + random() % 2));
      ASSERT_FALSE(HasFailure());
    }
  }
  for (const std::size_t bytes : {1'408U, 8'192U}) {
    const Kind kind = random() % 2 == 0 ? Kind::numbers : Kind::anything;
    codes.insert(expect_equal(c, kernels, random, bytes / wire::element_bytes(c.form), kind, 3));
    ASSERT_FALSE(HasFailure());
  }
  std::set<int> possible{0};
  if (wire::is_flt_sum(c.op)) {
    possible = {0, 1, 3, 4};
  } else if (wire::is_flt_lane(c.op)) {
    possible = {0, 4};
  } else if (c.op == Opcode::int_sum) {
    possible = {0, 6};
  }
  EXPECT_EQ(codes, possible) << "a code was not tested";
}

TEST(WideKernel, OfFormBits64DoesWhatTheKernelOf84ByteFramesDoes) {
  Random random(seed());
  constexpr std::size_t frames = 3;
  for (const Case& c : all_cases()) {
    if (c.form != Form::bits64) {
      continue;
    }
    const auto kernels = kernels_of_this_machine(c.mode);
    for (int round = 0; round < 200; ++round) {
      std::array<Accumulator, frames> accumulators;
      std::vector<Vector> operands;
      const std::size_t contributions = 1 + random() % 4;
      for (std::size_t i = 0; i < contributions; ++i) {
        const Kind kind = round % 2 == 0 ? Kind::anything : Kind::numbers;
        operands.push_back(random_vector(random, c.op, c.form, kind,
                                         i == 0 ? Vector(4 * frames) : operands.back()));
        for (std::size_t f = 0; f < frames; ++f) {
          Contribution in;
          in.op = c.op;
          std::copy_n(operands.back().begin() + static_cast<std::ptrdiff_t>(4 * f), 4,
                      in.payload.begin());
          if (i == 0) {
            reduce::start(accumulators[f], in);
          } else {
            reduce::combine(accumulators[f], in, c.mode);
          }
        }
      }
      Outcome expected;
      for (const Accumulator& acc : accumulators) {
        expected.elements.insert(expected.elements.end(), acc.payload.begin(), acc.payload.end());
        expected.code = std::max(expected.code, static_cast<int>(acc.result_code()));
      }
      for (const WideKernels& set : kernels) {
        const Left left = by_kernel(set.of(c.op, c.form), c.op, c.form, operands, random() % 64);
        ASSERT_EQ(left.emitted, expected)
            << wire::name_of(c.op) << ' ' << name_of(set.instruction_set()) << ' '
            << difference(left.emitted, expected, operands);
        if (contributions > 1) {
          ASSERT_EQ(left.ended, expected) << wire::name_of(c.op);
        }
      }
    }
  }
}

TEST(WideInstructionSets, TheBestOneIsAvailableAndSaidAloud) {
  EXPECT_TRUE(reduce::is_available(InstructionSet::baseline));
  EXPECT_TRUE(reduce::is_available(reduce::best_instruction_set()));
  EXPECT_EQ(WideKernels(NanMode::associative).instruction_set(), reduce::best_instruction_set());
  std::cout << "tested:";
  for (const InstructionSet set : reduce::all_instruction_sets) {
    std::cout << (reduce::is_available(set) ? " " : " not ") << name_of(set);
  }
  std::cout << '\n';
}

} // namespace
} // namespace tributary::test::wide
