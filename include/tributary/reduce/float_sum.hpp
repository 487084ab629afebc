// FLT_SUM: four IEEE binary64 additions in the opcode's rounding mode (wire-format.md, 4.6).
//
//   what happens in a lane                   result                              code
//   signalling NaN operand, Inf - Inf        canonical NaN                       flt_invalid
//   quiet NaN operand                        canonical NaN                       -
//   finite sum out of range                  Inf or largest finite, by the mode  flt_overflow
//   rounded                                  the rounded sum                     flt_inexact
//   flush-to-zero opcode, subnormal result   zero of the same sign               flt_inexact
//
// One code stands for all four lanes, so the processor's sticky flags say it all, read once a
// frame; flags of codes that would change nothing are not even looked at. That is what keeps a run
// of sums free of writes to MXCSR: from the second rounded sum of a reduction on the code is
// flt_inexact already, and a set inexact flag is no obstacle.
//
// Flushing is done here and not by the processor's own mode: a subnormal sum of two doubles is
// always exact, so looking at the result is enough, one control state less is ever needed, and
// subnormal operands stay numbers.
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

using Doubles = double __attribute__((vector_size(16)));

/// Two sums, not yet canonical and not yet flushed.
struct RawSums {
  LanePair low;
  LanePair high;
};

/// The same through the C library, for machines whose floating-point state we do not know by name.
/// Always restores the thread's state. Slow. On x86-64 only tests use it.
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

#if defined(__x86_64__)

inline Doubles add_pinned(Doubles a, Doubles b) noexcept {
#if defined(__AVX__)
  asm volatile("vaddpd %1, %0, %0" : "+x"(a) : "x"(b));
#else
  asm volatile("addpd %1, %0" : "+x"(a) : "x"(b));
#endif
  return a;
}

/// The flags whose codes are worse than `so_far`: only they can change it.
constexpr std::uint32_t flags_that_matter(ResultCode so_far) {
  return so_far < ResultCode::flt_inexact    ? mxcsr::invalid | mxcsr::overflow | mxcsr::inexact
         : so_far < ResultCode::flt_overflow ? mxcsr::invalid | mxcsr::overflow
         : so_far < ResultCode::flt_invalid  ? mxcsr::invalid
                                             : 0;
}

template <FloatState state>
inline ResultCode add_here(const wire::Payload& a, const wire::Payload& b, Rounding rounding,
                           ResultCode so_far, RawSums& sums) noexcept {
  const std::uint32_t entry = mxcsr::read();
  const std::uint32_t wanted = mxcsr::control_for(rounding);
  const std::uint32_t matter = flags_that_matter(so_far);
  const bool right = ((entry ^ wanted) & (mxcsr::control | matter)) == 0;
  if (!right) {
    mxcsr::write(wanted);
  }
  sums.low = (LanePair)add_pinned((Doubles)load_pair(&a[0]), (Doubles)load_pair(&b[0]));
  sums.high = (LanePair)add_pinned((Doubles)load_pair(&a[2]), (Doubles)load_pair(&b[2]));
  const std::uint32_t after = mxcsr::read();
  if constexpr (state == FloatState::restore) {
    if (const std::uint32_t back = entry | (after & mxcsr::all_flags); back != after) {
      mxcsr::write(back);
    }
  }
  const std::uint32_t raised = after & matter;
  return (raised & mxcsr::invalid) != 0    ? ResultCode::flt_invalid
         : (raised & mxcsr::overflow) != 0 ? ResultCode::flt_overflow
         : (raised & mxcsr::inexact) != 0  ? ResultCode::flt_inexact
                                           : ResultCode::success;
}

/// Out of line, so that no floating point of the caller can be moved between the write of another
/// mode and its way back.
template <FloatState state>
[[gnu::noinline]] ResultCode add(const wire::Payload& a, const wire::Payload& b, Rounding rounding,
                                 ResultCode so_far, RawSums& sums) noexcept {
  return add_here<state>(a, b, rounding, so_far, sums);
}

#else

template <FloatState>
inline ResultCode add(const wire::Payload& a, const wire::Payload& b, Rounding rounding, ResultCode,
                      RawSums& sums) noexcept {
  return add_through_library(a, b, rounding, sums);
}

#endif

/// Makes NaNs canonical and, for a flush-to-zero opcode, subnormals zero. True when it flushed one.
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
