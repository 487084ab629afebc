// The thread's floating-point state during many kernels of wide frames (wide_kernel.hpp).
//
//     HeldFloats floats;                                   // for a burst
//     kernels.of(op, form, floats.held()).add(slot, ...);  // any number of times
//
// Each kernel leaves its own state to the next one, and the object restores the thread's own. So
// between them the thread must not do floating-point arithmetic that matters.
#pragma once

#include "tributary/reduce/float_environment.hpp"
#include "tributary/reduce/wide_kernel.hpp"

namespace tributary::reduce {

class HeldFloats {
public:
#if defined(TRIBUTARY_FPU)
  HeldFloats() noexcept : entry_(fpu::read()) {}
  ~HeldFloats() {
    if (held_.control != FloatsAsHeld::unknown) {
      fpu::write(entry_);
    }
  }
  [[nodiscard]] FloatsAsHeld* held() noexcept { return &held_; }
#else
  HeldFloats() noexcept = default;
  /// Kernels that use the C library each restore the thread's state.
  [[nodiscard]] FloatsAsHeld* held() noexcept { return nullptr; }
#endif
  HeldFloats(const HeldFloats&) = delete;
  HeldFloats& operator=(const HeldFloats&) = delete;

#if defined(TRIBUTARY_FPU)
private:
  fpu::State entry_;
  FloatsAsHeld held_;
#endif
};

} // namespace tributary::reduce
