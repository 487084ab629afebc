// The floating-point state while the sums of one wide frame are made.
//
//     const NativeSums environment(operation, Flush::results);
//                                                         // the opcode's rounding, no flag set
//     ... loop: load, add, store ...
//     return environment.raised();                        // the code of all the sums
//                                                         // and restores the thread's own state
//
// Two writes and two reads of the state cost a frame 4 to 14 ns, depending on the processor: less
// than checking each sum, as float_sum.hpp does for the four of an 84-byte frame. If the state is
// held from frame to frame (`WideOperation::held`) it is one read, and a write after a frame that
// raised anything.
//
// Nothing is computed in the wrong state, because operands come from memory and results go back
// there, and both ends are compiler barriers: loads cannot move up beyond the first one, nor stores
// down beyond the second. A caller's own arithmetic, which may not use memory, is kept out because
// kernels are never inlined.
#pragma once

#include "tributary/reduce/float_environment.hpp"
#include "tributary/reduce/wide_kernel.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/result_code.hpp"

#include <cfenv>
#include <cstddef>
#include <cstdint>

namespace tributary::reduce {

using wire::ResultCode;

/// What a flush-to-zero opcode flushes: the sums, or nothing yet, because they are narrowed later.
enum class Flush : bool { nothing, results };

namespace detail {

inline void memory_barrier() noexcept { asm volatile("" : : : "memory"); }

constexpr ResultCode code_of_flags(bool invalid, bool overflow, bool inexact) {
  return invalid    ? ResultCode::flt_invalid
         : overflow ? ResultCode::flt_overflow
         : inexact  ? ResultCode::flt_inexact
                    : ResultCode::success;
}

} // namespace detail

/// Through the C library: for machines whose floating-point registers are unknown.
class LibrarySums {
public:
  /// Whether the processor flushes subnormal results, and raises inexact for it.
  static constexpr bool flushes = false;

  LibrarySums(WideOperation operation, Flush) noexcept {
    constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    std::fegetenv(&entry_);
    std::fesetenv(FE_DFL_ENV);
    std::fesetround(modes[static_cast<std::size_t>(wire::rounding_of(operation.op))]);
    std::feclearexcept(FE_ALL_EXCEPT);
    detail::memory_barrier();
  }
  ~LibrarySums() { std::fesetenv(&entry_); }
  LibrarySums(const LibrarySums&) = delete;
  LibrarySums& operator=(const LibrarySums&) = delete;

  [[nodiscard]] ResultCode raised() const noexcept {
    detail::memory_barrier();
    const int flags = std::fetestexcept(FE_INVALID | FE_OVERFLOW | FE_INEXACT);
    return detail::code_of_flags((flags & FE_INVALID) != 0, (flags & FE_OVERFLOW) != 0,
                                 (flags & FE_INEXACT) != 0);
  }

private:
  std::fenv_t entry_;
};

#if defined(TRIBUTARY_FPU)

/// The same with the processor's registers.
class RegisterSums {
public:
  static constexpr bool flushes = fpu::flushes_as_opcodes_ask;

  RegisterSums(WideOperation operation, Flush flush) noexcept : held_(operation.held) {
    const bool to_zero = flushes && flush == Flush::results && wire::flushes_to_zero(operation.op);
    control_ =
        fpu::control_for(wire::rounding_of(operation.op)) | (to_zero ? fpu::flush_to_zero : 0);
    if (held_ == nullptr) {
      entry_ = fpu::read();
      fpu::write(control_);
    } else if (held_->control != control_) {
      held_->control = control_;
      fpu::write(control_);
    }
    detail::memory_barrier();
  }
  ~RegisterSums() {
    if (held_ == nullptr) {
      fpu::write(entry_);
    }
  }
  RegisterSums(const RegisterSums&) = delete;
  RegisterSums& operator=(const RegisterSums&) = delete;

  /// Call once.
  [[nodiscard]] ResultCode raised() const noexcept {
    detail::memory_barrier();
    const fpu::State state = fpu::read();
    if (held_ != nullptr && state != control_) {
      fpu::clear_flags(control_);
    }
    return detail::code_of_flags((state & fpu::invalid) != 0, (state & fpu::overflow) != 0,
                                 (state & fpu::inexact) != 0);
  }

private:
  FloatsAsHeld* held_;
  fpu::State control_;
  fpu::State entry_ = 0; ///< the thread's own state, if none is held
};

using NativeSums = RegisterSums;

#else

using NativeSums = LibrarySums;

#endif

/// Runs `work` with floats as switches have them: rounding to nearest, with subnormal numbers,
/// whatever mode the thread has set. What it computes it reads from memory and leaves there.
template <typename Work> [[gnu::noinline]] void with_floats_as_in_switches(Work&& work) {
  const NativeSums environment({.op = Opcode::flt_sum_nearest}, Flush::nothing);
  work();
  static_cast<void>(environment.raised()); // keeps all of it before the state is restored
}

} // namespace tributary::reduce
