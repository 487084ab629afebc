// FLT_SUM: four IEEE binary64 additions in the opcode's rounding mode (wire-format.md, 4.6).
//
//   event in an element                      result                              code
//   signalling NaN operand, Inf - Inf        canonical NaN                       flt_invalid
//   quiet NaN operand                        canonical NaN                       -
//   finite sum out of range                  Inf or largest finite, by the mode  flt_overflow
//   rounded                                  the rounded sum                     flt_inexact
//   flush-to-zero opcode, subnormal result   zero of the same sign               flt_inexact
//
// One code covers all four lanes. The processor records all of this in sticky flags, but reading
// and clearing those for every frame costs more than the sums. So the flags are only used if
// something is infinite, NaN or close to it. All other sums can be neither invalid nor overflow,
// and they were exact if and only if  (sum - a == b) and (sum - b == a)  when computed in the same
// rounding mode:
//
//   - If the sum is exact, both differences are representable, thus exact.
//   - If it is not, let |a| >= |b| and the error be e. Sum, a and b are multiples of the unit
//     u of b's last place, and so is b + e, the true value of sum - a. If |b + e| < 2^53 u, it is
//     representable, and the difference is b + e, not b. Otherwise the difference is at least 2^53
//     u and so larger than b. Either way sum - a == b fails.
//
// The remaining cost per frame is one read of the state, to check that the thread is in the right
// mode, and no write if it is. The test for exactness is skipped if the code is flt_inexact
// already.
//
// Flushing is done here instead of by the processor's own mode: a subnormal sum of two doubles is
// always exact, so checking the result is enough, one control state less is needed, and subnormal
// operands stay numbers.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/float_environment.hpp"
#include "tributary/reduce/floating.hpp"

#include <bit>
#include <cfenv>
#include <cstddef>
#include <cstdint>

namespace tributary::reduce {

namespace detail {

/// Four sums, before NaNs are made canonical and subnormals are flushed.
struct RawSums {
  LanePair low;
  LanePair high;
};

/// The sums through the C library, for machines whose floating-point registers are unknown. Always
/// restores the thread's state. Slow. On x86-64 and aarch64 only tests use it.
inline ResultCode add_through_library(const wire::Payload& a, const wire::Payload& b,
                                      Rounding rounding, RawSums& sums) noexcept {
  constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::fenv_t entry;
  std::fegetenv(&entry);
  std::fesetenv(FE_DFL_ENV);
  std::fesetround(modes[static_cast<std::size_t>(rounding)]);
  std::feclearexcept(FE_ALL_EXCEPT);
  std::uint64_t result[4];
  for (std::size_t i = 0; i < 4; ++i) {
    // Volatile keeps the addition between the calls.
    volatile double x = std::bit_cast<double>(a[i]);
    volatile double y = std::bit_cast<double>(b[i]);
    volatile double sum = x + y;
    result[i] = std::bit_cast<std::uint64_t>(static_cast<double>(sum));
  }
  const int raised = std::fetestexcept(FE_INVALID | FE_OVERFLOW | FE_INEXACT);
  std::fesetenv(&entry);
  sums = {load_pair(&result[0]), load_pair(&result[2])};
  return (raised & FE_INVALID) != 0    ? ResultCode::flt_invalid
         : (raised & FE_OVERFLOW) != 0 ? ResultCode::flt_overflow
         : (raised & FE_INEXACT) != 0  ? ResultCode::flt_inexact
                                       : ResultCode::success;
}

#if defined(TRIBUTARY_FPU)

inline DoublePair pinned_sum(DoublePair a, DoublePair b) noexcept {
  pin(a);
  pin(b);
  DoublePair sum = a + b;
  pin(sum);
  return sum;
}
/// All ones in the lanes whose sum is exact; requires finite sums.
inline LanePair exact_lanes(DoublePair a, DoublePair b, DoublePair sum) noexcept {
  pin(a);
  pin(b);
  pin(sum);
  auto exact = (DoublePair)((sum - a == b) & (sum - b == a));
  pin(exact);
  return (LanePair)exact;
}
/// Whether a sum is so large that it may have overflowed, or is infinite or NaN.
inline bool is_extreme(LanePair low, LanePair high) noexcept {
  const LanePair magnitude = pair_of(~float_sign);
  const LanePair half_of_range = pair_of(0x7FE0'0000'0000'0000);
  return any(((low & magnitude) >= half_of_range) | ((high & magnitude) >= half_of_range));
}

/// The code of sums with an extreme value among them, by adding again with clear flags. Always
/// restores the thread's state.
[[gnu::cold, gnu::noinline]] inline ResultCode
code_from_flags(const wire::Payload& a, const wire::Payload& b, Rounding rounding) noexcept {
  const fpu::State entry = fpu::read();
  fpu::write(fpu::control_for(rounding));
  pinned_sum((DoublePair)load_pair(&a[0]), (DoublePair)load_pair(&b[0]));
  pinned_sum((DoublePair)load_pair(&a[2]), (DoublePair)load_pair(&b[2]));
  const fpu::State raised = fpu::read();
  fpu::write(entry);
  return (raised & fpu::invalid) != 0    ? ResultCode::flt_invalid
         : (raised & fpu::overflow) != 0 ? ResultCode::flt_overflow
         : (raised & fpu::inexact) != 0  ? ResultCode::flt_inexact
                                         : ResultCode::success;
}

/// Adds four lanes; the code is exact unless it would be no worse than `so_far`. Not inlined, so
/// that no floating-point code of the caller can move between the write of another mode and its
/// restoration.
template <FloatState state>
[[gnu::noinline]] ResultCode add(const wire::Payload& a, const wire::Payload& b, Rounding rounding,
                                 ResultCode so_far, RawSums& sums) noexcept {
  const fpu::State entry = fpu::read_control();
  const fpu::State wanted = fpu::control_for(rounding);
  const bool other_mode = ((entry ^ wanted) & fpu::control) != 0;
  if (other_mode) {
    fpu::write_control((entry & ~fpu::control) | wanted);
  }
  const auto a_low = (DoublePair)load_pair(&a[0]);
  const auto b_low = (DoublePair)load_pair(&b[0]);
  const auto a_high = (DoublePair)load_pair(&a[2]);
  const auto b_high = (DoublePair)load_pair(&b[2]);
  const DoublePair low = pinned_sum(a_low, b_low);
  const DoublePair high = pinned_sum(a_high, b_high);
  sums = {(LanePair)low, (LanePair)high};

  ResultCode code = ResultCode::success;
  if (is_extreme(sums.low, sums.high)) [[unlikely]] {
    code = code_from_flags(a, b, rounding);
  } else if (so_far < ResultCode::flt_inexact) {
    const LanePair exact = exact_lanes(a_low, b_low, low) & exact_lanes(a_high, b_high, high);
    code = any(~exact) ? ResultCode::flt_inexact : ResultCode::success;
  }
  if (state == FloatState::restore && other_mode) {
    fpu::write_control(entry);
  }
  return code;
}

#else

template <FloatState>
inline ResultCode add(const wire::Payload& a, const wire::Payload& b, Rounding rounding, ResultCode,
                      RawSums& sums) noexcept {
  return add_through_library(a, b, rounding, sums);
}

#endif

/// Makes NaNs canonical and, for a flush-to-zero opcode, subnormals zero. True if it flushed one.
inline bool finish_sums(const RawSums& sums, bool flush, wire::Payload& acc) noexcept {
  LanePair flushed{};
  const auto finish = [&flushed, flush](LanePair v) {
    if (flush) {
      const LanePair magnitude = v & pair_of(~float_sign);
      const LanePair subnormal =
          (magnitude < pair_of(std::uint64_t{1} << 52)) & (magnitude != LanePair{});
      flushed |= subnormal;
      v &= ~subnormal | pair_of(float_sign);
    }
    return nan_lanes(v) ? pair_of(canonical_nan) : v;
  };
  store_pair(&acc[0], finish(sums.low));
  store_pair(&acc[2], finish(sums.high));
  return any(flushed);
}

} // namespace detail

/// Adds four lanes. Requires `is_flt_sum(op)`.
template <FloatState state = FloatState::restore>
inline void flt_sum(Accumulator& acc, const Contribution& in, Opcode op) noexcept {
  detail::RawSums sums;
  const ResultCode rc = detail::add<state>(acc.payload, in.payload, rounding_of(op), acc.rc, sums);
  const bool flushed = detail::finish_sums(sums, flushes_to_zero(op), acc.payload);
  acc.rc = worse(acc.rc, worse(rc, flushed ? ResultCode::flt_inexact : ResultCode::success));
}

} // namespace tributary::reduce
