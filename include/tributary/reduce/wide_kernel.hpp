// The kernel of a wide frame: moves its vector into a slot, and the result out. Switches and root
// hosts run the same one, so that a result does not depend on where its parts met.
//
//     const WideKernels kernels(NanMode::associative);              // wide_kernels.hpp; once
//     const WideKernel kernel = kernels.of(op, form);
//
//     rc = worse(header_rc, kernel.begin(slot, first_payload));     // the first contribution
//     rc = worse(rc, worse(header_rc, kernel.add(slot, payload)));  // each later one
//     rc = worse(rc, worse(header_rc, kernel.end(slot, payload)));  // the last: its frame leaves
//     rc = worse(rc, kernel.emit(slot, payload));                   // or the result without one
//
//   call   reads         writes   result
//   begin  frame         slot     copied, or widened
//   add    slot, frame   slot     slot + frame
//   end    slot, frame   frame    narrow(slot + frame)
//   emit   slot          frame    narrow(slot)
//
// Each returns the code that it raised itself, one for all elements; the caller combines them.
// Differences from the four words of an 84-byte frame (reducer.hpp):
//
//   1. Sums of binary16 and bfloat16 are made in binary32, in the opcode's rounding; the slot needs
//      twice the payload's bytes. They are narrowed in the same rounding when they leave, which may
//      raise flt_inexact and flt_overflow; flush-to-zero opcodes flush the narrowed values.
//   2. Of two NaNs in a FLT_MINMAXLOC tuple the one of the lower index wins; only the code shows
//      that one was signalling.
//   3. FLT_REPSUM: an element carries its own M, and no overflow id; int_overflow is not withdrawn.
//   4. Bytes after the last whole element are not operands. They leave as zeros.
//
// A slot is aligned to 64 bytes, a payload is unaligned; they do not overlap. No allocation, no
// exception, no lock; any thread that owns the slot. The thread's floating-point state never
// matters, and is restored afterwards; for a sequence of kernels, after the last of them
// (held_floats.hpp).
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/wire/form.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/result_code.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::reduce {

using wire::Form;

inline constexpr std::size_t wide_slot_alignment = 64;

/// The floating-point state that kernels leave to each other (held_floats.hpp).
struct FloatsAsHeld {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  std::uint64_t control = unknown; ///< as left by the last kernel, without flags
};

/// The arguments of functions that implement several operations.
struct WideOperation {
  Opcode op = Opcode::bit_or;
  NanMode nan_mode = NanMode::associative;
  FloatsAsHeld* held = nullptr; ///< null: each kernel restores the thread's own state
};

/// The compiled code of one operator and form, in one instruction set. Bytes are the payload's.
struct WideFunctions {
  using IntoSlot = ResultCode(std::byte* slot, const std::byte* frame, std::size_t bytes,
                              WideOperation operation) noexcept;
  using OutOfSlot = ResultCode(const std::byte* slot, std::byte* frame, std::size_t bytes,
                               WideOperation operation) noexcept;
  IntoSlot* begin;
  IntoSlot* add;
  OutOfSlot* end;
  OutOfSlot* emit;
};

/// Whether slot elements are twice as wide as the frames'.
constexpr bool widens(Form form, Opcode op) {
  return (form == Form::bits16 || form == Form::bfloat16) && wire::is_flt_sum(op);
}
/// Slot bytes needed for a payload.
constexpr std::size_t wide_slot_bytes(Form form, Opcode op, std::size_t payload_bytes) {
  return widens(form, op) ? 2 * payload_bytes : payload_bytes;
}

/// One operator on one form. Small, and valid until the program ends.
class WideKernel {
public:
  constexpr WideKernel(const WideFunctions& functions, WideOperation operation)
      : functions_(&functions), operation_(operation) {}

  ResultCode begin(std::byte* slot, std::span<const std::byte> payload) const noexcept {
    return functions_->begin(slot, payload.data(), payload.size(), operation_);
  }
  ResultCode add(std::byte* slot, std::span<const std::byte> payload) const noexcept {
    return functions_->add(slot, payload.data(), payload.size(), operation_);
  }
  /// Does not change the slot.
  ResultCode end(const std::byte* slot, std::span<std::byte> payload) const noexcept {
    return functions_->end(slot, payload.data(), payload.size(), operation_);
  }
  /// Does not change the slot.
  ResultCode emit(const std::byte* slot, std::span<std::byte> payload) const noexcept {
    return functions_->emit(slot, payload.data(), payload.size(), operation_);
  }

private:
  const WideFunctions* functions_;
  WideOperation operation_;
};

} // namespace tributary::reduce
