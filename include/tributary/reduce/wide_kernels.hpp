// All kernels of wide frames (wide_kernel.hpp), and which of them this machine runs.
//
// A WideKernels is a table of 4 KiB, made once per reducing component: `of` is one load. It is
// read-only afterwards, for any number of threads.
//
// Include this only where the table is made: this header holds the code of every operator, form and
// instruction set, and each file that includes it compiles that.
#pragma once

#include "tributary/reduce/instruction_set.hpp"
#include "tributary/reduce/wide_extreme.hpp"
#include "tributary/reduce/wide_half_sum.hpp"
#include "tributary/reduce/wide_integer.hpp"
#include "tributary/reduce/wide_kernel.hpp"
#include "tributary/reduce/wide_narrow_sum.hpp"
#include "tributary/reduce/wide_repsum.hpp"
#include "tributary/reduce/wide_sum.hpp"
#include "tributary/reduce/wide_targets.hpp"
#include "tributary/reduce/wide_tuple.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tributary::reduce {

namespace detail {

/// Kernels that are not loops over single elements, the same for every instruction set.
template <typename Functions>
inline constexpr WideFunctions same_for_all{Functions::begin, Functions::add, Functions::end,
                                            Functions::emit};

/// Kernels of bitwise operators, which work on bytes, and of integers.
template <template <typename> typename Target, bool bits, typename Element>
constexpr const WideFunctions& integer_functions(Opcode op) {
  const WideFunctions* functions = nullptr;
  wire::with_opcode(op, [&]<Opcode known>() {
    constexpr Operands operands = wire::operands_of(known);
    if constexpr (wire::is_integer(operands) && (operands == Operands::bits) == bits) {
      functions =
          &wide_functions_of<Target, WideInteger<typename Kernel<known>::Function, Element>>;
    }
  });
  return *functions;
}
template <template <typename> typename Target> constexpr const WideFunctions& half_sum_functions() {
#if defined(__x86_64__)
  if constexpr (!std::is_same_v<Target<WideHalfSum>, BaselineTarget<WideHalfSum>>) {
    return same_for_all<WideHalfSum>;
  }
#endif
  return wide_functions_of<Target, WideNarrowSum<Binary16Narrowing, NativeSums>>;
}
constexpr const WideFunctions& tuple_functions(Opcode op) {
  const WideFunctions* functions = nullptr;
  wire::with_opcode(op, [&]<Opcode known>() {
    if constexpr (wire::is_minmaxloc(known)) {
      functions = &same_for_all<WideTuple<known>>;
    }
  });
  return *functions;
}

/// IEEE mode is compiled for the baseline only: it is an order-dependent rarity.
template <template <typename> typename Target, typename Format>
constexpr const WideFunctions& extreme_functions(Opcode op, NanMode nan_mode) {
  const bool number_wins = op == Opcode::flt_minnum || op == Opcode::flt_maxnum;
  return number_wins && nan_mode == NanMode::ieee
             ? wide_functions_of<BaselineTarget, WideExtreme<Format, NanMode::ieee>>
             : wide_functions_of<Target, WideExtreme<Format, NanMode::associative>>;
}

/// Requires `wire::carries(form, op)`, and a wide form.
template <template <typename> typename Target>
constexpr const WideFunctions& wide_functions(Form form, Opcode op, NanMode nan_mode) {
  if (form == Form::tuple) {
    return tuple_functions(op);
  }
  if (form == Form::repsum) {
    return same_for_all<WideRepsum>;
  }
  if (wire::is_bitwise(op)) {
    return integer_functions<Target, true, std::uint8_t>(op);
  }
  if (wire::is_integer(wire::operands_of(op))) {
    return form == Form::bits64   ? integer_functions<Target, false, std::uint64_t>(op)
           : form == Form::bits32 ? integer_functions<Target, false, std::uint32_t>(op)
           : form == Form::bits16 ? integer_functions<Target, false, std::uint16_t>(op)
                                  : integer_functions<Target, false, std::uint8_t>(op);
  }
  if (wire::is_flt_sum(op)) {
    return form == Form::bits64   ? wide_functions_of<Target, WideSum<Binary64, NativeSums>>
           : form == Form::bits32 ? wide_functions_of<Target, WideSum<Binary32, NativeSums>>
           : form == Form::bits16
               ? half_sum_functions<Target>()
               : wide_functions_of<Target, WideNarrowSum<Bfloat16Narrowing, NativeSums>>;
  }
  return form == Form::bits64   ? extreme_functions<Target, Binary64>(op, nan_mode)
         : form == Form::bits32 ? extreme_functions<Target, Binary32>(op, nan_mode)
         : form == Form::bits16 ? extreme_functions<Target, Binary16>(op, nan_mode)
                                : extreme_functions<Target, Bfloat16>(op, nan_mode);
}

constexpr const WideFunctions& wide_functions([[maybe_unused]] InstructionSet set, Form form,
                                              Opcode op, NanMode nan_mode) {
#if defined(__x86_64__)
  switch (set) {
  case InstructionSet::avx512: return wide_functions<Avx512Target>(form, op, nan_mode);
  case InstructionSet::avx2: return wide_functions<Avx2Target>(form, op, nan_mode);
  case InstructionSet::baseline: break;
  }
#endif
  return wide_functions<BaselineTarget>(form, op, nan_mode);
}

} // namespace detail

class WideKernels {
public:
  /// `nan_mode` is the switch's, as for `combine`. The set must be available; tests and benchmarks
  /// choose other sets than the best.
  explicit WideKernels(NanMode nan_mode, InstructionSet set = best_instruction_set())
      : nan_mode_(nan_mode), set_(set) {
    for (const Opcode op : all_opcodes) {
      for (const Form form : wire::wide_forms) {
        if (wire::carries(form, op)) {
          functions_[index_of(form, op)] = &detail::wide_functions(set, form, op, nan_mode);
        }
      }
    }
  }

  /// Requires `wire::carries(form, op)`, and a wide form.
  [[nodiscard]] WideKernel of(Opcode op, Form form, FloatsAsHeld* held = nullptr) const noexcept {
    return {*functions_[index_of(form, op)], {op, nan_mode_, held}};
  }
  [[nodiscard]] InstructionSet instruction_set() const noexcept { return set_; }

private:
  static constexpr std::size_t forms = 8;

  static constexpr std::size_t index_of(Form form, Opcode op) {
    return static_cast<std::size_t>(op) * forms + static_cast<std::size_t>(form);
  }

  NanMode nan_mode_;
  InstructionSet set_;
  std::array<const WideFunctions*, wire::opcode_count * forms> functions_{};
};

} // namespace tributary::reduce
