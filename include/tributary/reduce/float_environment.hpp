// The thread's floating-point state, for the two places that compute with real floating point:
// FLT_SUM, and the host's conversion of a reproducible sum to double.
//
// A frame's rounding mode comes from its opcode, never from the thread. So the thread's settings
// (rounding, flush-to-zero, denormals-are-zero, unmasked exceptions) must be set aside while a sum
// is made, and restored afterwards.
//
// On x86-64 all of it is one register, MXCSR:
//
//   bits    5:0  sticky flags: invalid 0, denormal 1, divide 2, overflow 3, underflow 4, inexact 5
//   bit       6  denormals are zero
//   bits   12:7  exception masks, in the order of the flags
//   bits  14:13  rounding: 00 nearest, 01 downward, 10 upward, 11 toward zero
//   bit      15  flush to zero
//
// On aarch64 it is two, FPSR with the sticky flags and FPCR with the rest; `State` has FPCR in its
// upper half. Neither needs a barrier: the processor keeps both in order with arithmetic.
//
//   FPSR bit   0 invalid, 1 divide, 2 overflow, 3 underflow, 4 inexact, 7 subnormal operand flushed
//   FPCR bits  12:8 and 15  traps, where a processor has them
//   FPCR bits  23:22        rounding: 00 nearest, 01 upward, 10 downward, 11 toward zero
//   FPCR bit   24           flush to zero: operands, too, and without raising inexact
//   FPCR bit   25           every NaN result is the default one
//
// Compilers are unaware of these and would move arithmetic across a write to them. But they keep
// volatile assembly in order: reads and writes are volatile assembly, and `pin` is an empty one
// that a value passes through. Arithmetic between two pins of its operands and of its result stays
// there.
#pragma once

#include "tributary/wire/opcode.hpp"

#include <cfenv>
#include <cstdint>

namespace tributary::reduce {

using wire::Opcode;
using wire::Rounding;

/// The thread's floating-point state after a sum.
enum class FloatState : std::uint8_t {
  /// The caller's own state, as after any addition: control bits untouched, sticky flags only
  /// added.
  restore,
  /// The mode of the sum. Saves two writes per frame when many consecutive sums need another mode
  /// than the thread's own. Only for threads whose own floating-point arithmetic does not matter.
  keep,
};

#if defined(__x86_64__)

namespace fpu {

using State = std::uint32_t;

inline constexpr State invalid = 1U << 0;
inline constexpr State overflow = 1U << 3;
inline constexpr State inexact = 1U << 5;
inline constexpr State all_flags = 0x3F;
inline constexpr State control = 0xFFC0;
inline constexpr State all_masked = 0x1F80;
inline constexpr State flush_to_zero = 1U << 15;
inline constexpr State denormals_are_zero = 1U << 6;
/// `flush_to_zero` implements W4.6: a subnormal sum becomes zero of its sign and raises inexact;
/// subnormal operands stay numbers.
inline constexpr bool flushes_as_opcodes_ask = true;

inline State read() noexcept {
  State value;
  asm volatile("stmxcsr %0" : "=m"(value));
  return value;
}
inline void write(State value) noexcept { asm volatile("ldmxcsr %0" : : "m"(value)); }

/// Reads the control bits, along with others, and writes them back.
inline State read_control() noexcept { return read(); }
inline void write_control(State value) noexcept { write(value); }
/// Clears all flags. Requires that the control bits are those of `value` already.
inline void clear_flags(State value) noexcept { write(value & ~all_flags); }

/// The control bits of a sum: rounding as requested, everything masked, subnormals treated as
/// numbers.
constexpr State control_for(Rounding rounding) {
  // The opcodes count upward before downward, x86 the reverse: swap the two bits.
  const auto code = static_cast<State>(rounding);
  return all_masked | (code & 1U) << 14 | (code & 2U) << 12;
}
static_assert(control_for(Rounding::nearest) == 0x1F80);
static_assert(control_for(Rounding::upward) == 0x5F80);
static_assert(control_for(Rounding::downward) == 0x3F80);
static_assert(control_for(Rounding::toward_zero) == 0x7F80);

} // namespace fpu

#define TRIBUTARY_VECTOR_REGISTER "+x"

#elif defined(__aarch64__)

namespace fpu {

using State = std::uint64_t;

inline constexpr State invalid = 1U << 0;
inline constexpr State overflow = 1U << 2;
inline constexpr State inexact = 1U << 4;
inline constexpr State all_flags = 0x9F;
inline constexpr State control = State{0xFFFF'FFFF} << 32;
inline constexpr State all_masked = 0;
inline constexpr State flush_to_zero = State{1} << (32 + 24);
inline constexpr bool flushes_as_opcodes_ask = false;

inline State read_control() noexcept {
  State value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value << 32;
}
inline void write_control(State value) noexcept {
  asm volatile("msr fpcr, %0" : : "r"(value >> 32));
}
inline State read() noexcept {
  State flags;
  asm volatile("mrs %0, fpsr" : "=r"(flags));
  return read_control() | (flags & 0xFFFF'FFFF);
}
inline void write(State value) noexcept {
  write_control(value);
  asm volatile("msr fpsr, %0" : : "r"(value & 0xFFFF'FFFF));
}
inline void clear_flags(State value) noexcept {
  asm volatile("msr fpsr, %0" : : "r"(value & 0xFFFF'FFFF & ~all_flags));
}

constexpr State control_for(Rounding rounding) {
  return static_cast<State>(rounding) << (32 + 22); // the opcodes count as Arm does
}
static_assert(control_for(Rounding::nearest) == 0);
static_assert(control_for(Rounding::upward) == 0x0040'0000'0000'0000);
static_assert(control_for(Rounding::downward) == 0x0080'0000'0000'0000);
static_assert(control_for(Rounding::toward_zero) == 0x00C0'0000'0000'0000);

} // namespace fpu

#define TRIBUTARY_VECTOR_REGISTER "+w"

#endif

#if defined(TRIBUTARY_VECTOR_REGISTER)

/// Two doubles in one register.
using DoublePair = double __attribute__((vector_size(16)));

/// Keeps computations from `v` after, and computations of `v` before, every access to the state at
/// this place in the source.
inline void pin(DoublePair& v) noexcept { asm volatile("" : TRIBUTARY_VECTOR_REGISTER(v)); }

#undef TRIBUTARY_VECTOR_REGISTER
/// The state's registers are known: kernels that hold it are compiled, and the C library is not
/// used.
#define TRIBUTARY_FPU 1

#endif

/// Round-to-nearest, all exceptions masked, subnormals as numbers, for the life of this object.
/// Restores the thread's state afterwards, including flags. Values computed meanwhile must pass
/// through `pinned` on their way in and out, which keeps compilers from computing them elsewhere.
class NearestRounding {
public:
#if defined(TRIBUTARY_FPU)
  NearestRounding() noexcept : entry_(fpu::read()) { fpu::write(fpu::all_masked); }
  ~NearestRounding() { fpu::write(entry_); }
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
#if defined(TRIBUTARY_FPU)
  fpu::State entry_;
#else
  std::fenv_t entry_;
#endif
};

} // namespace tributary::reduce
