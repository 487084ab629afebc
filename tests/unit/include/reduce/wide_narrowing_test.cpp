// The 16-bit formats, exhaustively: every element is widened and converted back, and values about
// every boundary of the narrow format are rounded as the reference rounds them.
#include "tests/unit/include/reduce/wide_operands.hpp"
#include "tributary/reduce/wide_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <iterator>
#include <string_view>
#include <vector>

namespace tributary::test::wide {
namespace {

constexpr Opcode sums[] = {Opcode::flt_sum_nearest,      Opcode::flt_sum_upward,
                           Opcode::flt_sum_downward,     Opcode::flt_sum_toward_zero,
                           Opcode::flt_sum_ftz_nearest,  Opcode::flt_sum_ftz_upward,
                           Opcode::flt_sum_ftz_downward, Opcode::flt_sum_ftz_toward_zero};
constexpr Form narrow_forms[] = {Form::bits16, Form::bfloat16};

/// Calls `check(kernel, op, form, name of the set)` for every sum of 16 bits on this machine.
template <typename Check> void for_every_sum(Check check) {
  for (const reduce::InstructionSet set : reduce::all_instruction_sets) {
    if (!reduce::is_available(set)) {
      continue;
    }
    const reduce::WideKernels kernels(NanMode::associative, set);
    for (const Form form : narrow_forms) {
      for (const Opcode op : sums) {
        check(kernels.of(op, form), op, form, name_of(set));
      }
    }
  }
}

TEST(WideNarrowing, EveryElementComesBackButForNansAndWhatIsFlushed) {
  Vector every(65'536);
  for (std::size_t i = 0; i < every.size(); ++i) {
    every[i] = i;
  }
  const std::size_t bytes = 2 * every.size();
  const Guarded slot(2 * bytes, 0);
  const Guarded frame(bytes, 14);
  for_every_sum([&](const reduce::WideKernel& kernel, Opcode op, Form form, std::string_view set) {
    const Format& f = format_of(form);
    put(frame.data(), form, every);
    EXPECT_EQ(kernel.begin(slot.data(), frame.span()), ResultCode::flt_invalid);
    const ResultCode left = kernel.emit(slot.data(), frame.span());
    const bool flushes = wire::flushes_to_zero(op);
    EXPECT_EQ(left, flushes ? ResultCode::flt_inexact : ResultCode::success);
    const Vector got = taken(frame.data(), form, every.size());
    for (std::size_t i = 0; i < every.size(); ++i) {
      const std::uint64_t magnitude = i & (f.sign() - 1);
      const bool flushed = flushes && magnitude >> f.fraction == 0;
      const std::uint64_t expected = f.is_nan(i) ? f.nan() : flushed ? i & f.sign() : i;
      ASSERT_EQ(got[i], expected) << set << ' ' << wire::name_of(op) << ' ' << wire::name_of(form);
    }
  });
}

TEST(WideNarrowing, RoundsAboutEveryBoundaryAsTheReferenceDoes) {
  // Behind upper halves of every exponent: nothing, ties of both formats and their neighbours.
  constexpr std::uint32_t lower_halves[] = {0,      1,      0x0FFF, 0x1000, 0x1001, 0x2FFF,
                                            0x3000, 0x7FFF, 0x8000, 0x8001, 0xF000, 0xFFFF};
  constexpr std::size_t step = 19 * TRIBUTARY_SEED_DIVISOR;
  constexpr std::size_t count = std::size(lower_halves);
  const Guarded slot(4 * count, 0);
  const Guarded frame(2 * count, 2);
  Random random(seed());
  for_every_sum([&](const reduce::WideKernel& kernel, Opcode op, Form form, std::string_view set) {
    for (std::uint64_t upper = random() % step; upper < 65'536; upper += step) {
      Vector values(count);
      Vector expected(count);
      int code = 0;
      {
        const Rounded rounded(wire::rounding_of(op));
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t v = upper << 16 | lower_halves[i];
          const bool nan = binary32.is_nan(v);
          values[i] = nan ? binary32.nan() : v;
          expected[i] = narrowed(format_of(form), op, nan ? std::nan("") : binary32.value(v), code);
        }
      }
      put(slot.data(), Form::bits32, values);
      const ResultCode rc = kernel.emit(slot.data(), frame.span());
      ASSERT_EQ(taken(frame.data(), form, count), expected)
          << set << ' ' << wire::name_of(op) << ' ' << wire::name_of(form) << std::hex << ' '
          << upper;
      ASSERT_EQ(static_cast<int>(rc), code) << set << ' ' << wire::name_of(op) << std::hex << ' '
                                            << wire::name_of(form) << ' ' << upper;
    }
  });
}

} // namespace
} // namespace tributary::test::wide
