// The kernels of wide frames for the best instruction set of this machine: the tables are made on
// first use, and compiled only here.
#pragma once

#include "tributary/reduce/wide_kernel.hpp"

namespace tributary::collective {

/// Requires `wire::carries(form, op)`, and a wide form. Any thread.
[[nodiscard]] reduce::WideKernel wide_kernel(wire::Opcode op, wire::Form form,
                                             reduce::NanMode nan_mode);

} // namespace tributary::collective
