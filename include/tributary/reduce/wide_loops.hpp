// The loops of the kernels of wide frames: apply an operator's functions for one element to all.
//
// An operator is a class made from a WideOperation, with
//
//   Element      unsigned type of an element in a frame, little-endian there
//   Slot         unsigned type of one in a slot
//   Noted        notes of elements, combined by `|`; starts as {}
//   Environment  the floating-point state needed, or AnyState
//   flush        what that state flushes
//   copies_in    begin is a plain copy
//   copies_out   emit is one
//
//   Slot    widen(Element, Noted&)           begin; raises no flag, and rounds nothing
//   Slot    combine(Slot, Element, Noted&)   add
//   Element narrow(Slot, Noted&)             emit; and end, after combine
//   ResultCode code_of(Noted)
//
// The loops are always inlined into functions that are compiled for an instruction set
// (wide_targets.hpp), and only there do compilers vectorise them. So all element functions are
// inlined, too, have no branches, and no pointer may alias another. Arithmetic that may raise a
// flag must not be conditional: clang would execute it for all elements, and select afterwards.
#pragma once

#include "tributary/reduce/sum_environment.hpp"
#include "tributary/reduce/wide_kernel.hpp"
#include "tributary/wire/byte_order.hpp"

#include <cstddef>
#include <cstring>
#include <memory>

namespace tributary::reduce {

/// For operators without floating-point instructions.
struct AnyState {
  constexpr AnyState(WideOperation, Flush) noexcept {}
  [[nodiscard]] constexpr ResultCode raised() const noexcept { return ResultCode::success; }
};

namespace detail {

template <typename T> [[gnu::always_inline]] inline T load(const std::byte* from, std::size_t i) {
  return wire::load_le<T>(from + i * sizeof(T));
}
template <typename T> [[gnu::always_inline]] inline void store(std::byte* to, std::size_t i, T v) {
  wire::store_le<T>(to + i * sizeof(T), v);
}

template <typename Operator>
[[gnu::always_inline]] inline ResultCode
begin_all(std::byte* __restrict slot_bytes, const std::byte* __restrict frame, std::size_t bytes,
          WideOperation operation) noexcept {
  std::byte* const slot = std::assume_aligned<wide_slot_alignment>(slot_bytes);
  const Operator op(operation);
  typename Operator::Noted noted{};
  for (std::size_t i = 0; i < bytes / sizeof(typename Operator::Element); ++i) {
    store(slot, i, op.widen(load<typename Operator::Element>(frame, i), noted));
  }
  return op.code_of(noted);
}

template <typename Operator>
[[gnu::always_inline]] inline ResultCode
add_all(std::byte* __restrict slot_bytes, const std::byte* __restrict frame, std::size_t bytes,
        WideOperation operation) noexcept {
  std::byte* const slot = std::assume_aligned<wide_slot_alignment>(slot_bytes);
  const Operator op(operation);
  const typename Operator::Environment environment(operation, Operator::flush);
  typename Operator::Noted noted{};
  for (std::size_t i = 0; i < bytes / sizeof(typename Operator::Element); ++i) {
    store(slot, i,
          op.combine(load<typename Operator::Slot>(slot, i),
                     load<typename Operator::Element>(frame, i), noted));
  }
  return worse(op.code_of(noted), environment.raised());
}

template <typename Operator>
[[gnu::always_inline]] inline ResultCode end_all(const std::byte* __restrict slot_bytes,
                                                 std::byte* __restrict frame, std::size_t bytes,
                                                 WideOperation operation) noexcept {
  const std::byte* const slot = std::assume_aligned<wide_slot_alignment>(slot_bytes);
  const Operator op(operation);
  const typename Operator::Environment environment(operation, Operator::flush);
  typename Operator::Noted noted{};
  for (std::size_t i = 0; i < bytes / sizeof(typename Operator::Element); ++i) {
    store(frame, i,
          op.narrow(op.combine(load<typename Operator::Slot>(slot, i),
                               load<typename Operator::Element>(frame, i), noted),
                    noted));
  }
  return worse(op.code_of(noted), environment.raised());
}

template <typename Operator>
[[gnu::always_inline]] inline ResultCode emit_all(const std::byte* __restrict slot_bytes,
                                                  std::byte* __restrict frame, std::size_t bytes,
                                                  WideOperation operation) noexcept {
  const std::byte* const slot = std::assume_aligned<wide_slot_alignment>(slot_bytes);
  const Operator op(operation);
  const typename Operator::Environment environment(operation, Operator::flush);
  typename Operator::Noted noted{};
  for (std::size_t i = 0; i < bytes / sizeof(typename Operator::Element); ++i) {
    store(frame, i, op.narrow(load<typename Operator::Slot>(slot, i), noted));
  }
  return worse(op.code_of(noted), environment.raised());
}

} // namespace detail

} // namespace tributary::reduce
