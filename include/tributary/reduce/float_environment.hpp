// The thread's floating-point state, for the two places that compute with real floating point:
// FLT_SUM, and the host's conversion of a reproducible sum to double.
//
// A frame's rounding mode comes from its opcode, never from the thread. So whatever the thread has
// set (rounding, flush-to-zero, denormals-are-zero, unmasked exceptions) must be out of the way
// while a sum is made, and be back afterwards.
//
// On x86-64 all of it is one register, MXCSR:
//
//   bits    5:0  sticky flags: invalid 0, denormal 1, divide 2, overflow 3, underflow 4, inexact 5
//   bit       6  denormals are zero
//   bits   12:7  exception masks, in the order of the flags
//   bits  14:13  rounding: 00 nearest, 01 downward, 10 upward, 11 toward zero
//   bit      15  flush to zero
//
// Compilers know nothing of MXCSR and would move arithmetic across a write to it. But they keep
// volatile assembly in order: reads and writes are such, and `pin` is an empty one that a value
// passes through. Arithmetic between two pins of its operands and of its result stays there.
#pragma once

#include "tributary/wire/opcode.hpp"

#include <cfenv>
#include <cstdint>

namespace tributary::reduce {

using wire::Opcode;
using wire::Rounding;

/// What a sum leaves behind in the thread's floating-point state.
enum class FloatState : std::uint8_t {
  /// The caller's own state, as after any addition: control bits untouched, sticky flags only
  /// added.
  restore,
  /// The mode of the sum. Saves two writes a frame when many sums in another mode than the thread's
  /// own follow each other. Only for threads that do no floating point of their own that matters.
  keep,
};

#if defined(__x86_64__)

namespace mxcsr {

inline constexpr std::uint32_t invalid = 1U << 0;
inline constexpr std::uint32_t overflow = 1U << 3;
inline constexpr std::uint32_t inexact = 1U << 5;
inline constexpr std::uint32_t control = 0xFFC0;
inline constexpr std::uint32_t all_masked = 0x1F80;

inline std::uint32_t read() noexcept {
  std::uint32_t value;
  asm volatile("stmxcsr %0" : "=m"(value));
  return value;
}
inline void write(std::uint32_t value) noexcept { asm volatile("ldmxcsr %0" : : "m"(value)); }

/// The control bits of a sum: rounding as asked, everything masked, subnormals treated as numbers.
constexpr std::uint32_t control_for(Rounding rounding) {
  // The opcodes count upward before downward, x86 the other way round: swap the two bits.
  const auto code = static_cast<std::uint32_t>(rounding);
  return all_masked | (code & 1U) << 14 | (code & 2U) << 12;
}
static_assert(control_for(Rounding::nearest) == 0x1F80);
static_assert(control_for(Rounding::upward) == 0x5F80);
static_assert(control_for(Rounding::downward) == 0x3F80);
static_assert(control_for(Rounding::toward_zero) == 0x7F80);

} // namespace mxcsr

/// Two doubles in one register.
using DoublePair = double __attribute__((vector_size(16)));

/// Keeps what is computed from `v` behind, and what `v` is computed from before, every read and
/// write of MXCSR that stands there in the source.
inline void pin(DoublePair& v) noexcept { asm volatile("" : "+x"(v)); }

#endif

/// Round-to-nearest, all exceptions masked, subnormals as numbers, for the life of this object.
/// The thread's state is as before afterwards, flags included. Values computed meanwhile must pass
/// through `pinned` on their way in and out, which keeps compilers from computing them elsewhere.
class NearestRounding {
public:
#if defined(__x86_64__)
  NearestRounding() noexcept : entry_(mxcsr::read()) { mxcsr::write(mxcsr::all_masked); }
  ~NearestRounding() { mxcsr::write(entry_); }
#else
  NearestRounding() noexcept {
    std::fegetenv(&entry_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~NearestRounding() { std::fesetenv(&entry_); }
#endif
  NearestRounding(const NearestRounding&) = delete;
  NearestRounding& operator=(const NearestRounding&) = delete;

  template <typename T> [[nodiscard]] T pinned(T value) const noexcept {
    volatile T in_memory = value;
    return in_memory;
  }

private:
#if defined(__x86_64__)
  std::uint32_t entry_;
#else
  std::fenv_t entry_;
#endif
};

} // namespace tributary::reduce
