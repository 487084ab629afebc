#include "endpoint/collective/wide_kernel_table.hpp"

#include "tributary/reduce/wide_kernels.hpp"

namespace tributary::collective {

reduce::WideKernel wide_kernel(wire::Opcode op, wire::Form form, reduce::NanMode nan_mode) {
  static const reduce::WideKernels associative(reduce::NanMode::associative);
  static const reduce::WideKernels ieee(reduce::NanMode::ieee);
  return (nan_mode == reduce::NanMode::ieee ? ieee : associative).of(op, form);
}

} // namespace tributary::collective
