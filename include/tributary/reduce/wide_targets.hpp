// The loops over a wide frame, compiled once for each instruction set. The loops are written for
// one element (wide_loops.hpp); the only difference is that the surrounding function may use wider
// vectors. So each set computes the same by construction.
//
// Functions are never inlined: a caller's floating-point code must not move into one that has set
// another rounding, and a function for AVX must not be merged into one for all machines.
#pragma once

#include "tributary/reduce/wide_kernel.hpp"
#include "tributary/reduce/wide_loops.hpp"

#include <cstddef>
#include <cstring>

namespace tributary::reduce {

/// begin, or emit, if slots hold the same as frames.
struct WideCopy {
  static ResultCode into_slot(std::byte* slot, const std::byte* frame, std::size_t bytes,
                              WideOperation) noexcept {
    std::memcpy(slot, frame, bytes);
    return ResultCode::success;
  }
  static ResultCode out_of_slot(const std::byte* slot, std::byte* frame, std::size_t bytes,
                                WideOperation) noexcept {
    std::memcpy(frame, slot, bytes);
    return ResultCode::success;
  }
};

/// The build's own target.
template <typename Operator> struct BaselineTarget {
  [[gnu::noinline]] static ResultCode begin(std::byte* slot, const std::byte* frame,
                                            std::size_t bytes, WideOperation operation) noexcept {
    return detail::begin_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::noinline]] static ResultCode add(std::byte* slot, const std::byte* frame,
                                          std::size_t bytes, WideOperation operation) noexcept {
    return detail::add_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::noinline]] static ResultCode end(const std::byte* slot, std::byte* frame,
                                          std::size_t bytes, WideOperation operation) noexcept {
    return detail::end_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::noinline]] static ResultCode emit(const std::byte* slot, std::byte* frame,
                                           std::size_t bytes, WideOperation operation) noexcept {
    return detail::emit_all<Operator>(slot, frame, bytes, operation);
  }
};

#if defined(__x86_64__)

template <typename Operator> struct Avx2Target {
  [[gnu::target("avx2,f16c"), gnu::noinline]] static ResultCode
  begin(std::byte* slot, const std::byte* frame, std::size_t bytes,
        WideOperation operation) noexcept {
    return detail::begin_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::target("avx2,f16c"), gnu::noinline]] static ResultCode
  add(std::byte* slot, const std::byte* frame, std::size_t bytes,
      WideOperation operation) noexcept {
    return detail::add_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::target("avx2,f16c"), gnu::noinline]] static ResultCode
  end(const std::byte* slot, std::byte* frame, std::size_t bytes,
      WideOperation operation) noexcept {
    return detail::end_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::target("avx2,f16c"), gnu::noinline]] static ResultCode
  emit(const std::byte* slot, std::byte* frame, std::size_t bytes,
       WideOperation operation) noexcept {
    return detail::emit_all<Operator>(slot, frame, bytes, operation);
  }
};

template <typename Operator> struct Avx512Target {
  [[gnu::target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl"), gnu::noinline]] static ResultCode
  begin(std::byte* slot, const std::byte* frame, std::size_t bytes,
        WideOperation operation) noexcept {
    return detail::begin_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl"), gnu::noinline]] static ResultCode
  add(std::byte* slot, const std::byte* frame, std::size_t bytes,
      WideOperation operation) noexcept {
    return detail::add_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl"), gnu::noinline]] static ResultCode
  end(const std::byte* slot, std::byte* frame, std::size_t bytes,
      WideOperation operation) noexcept {
    return detail::end_all<Operator>(slot, frame, bytes, operation);
  }
  [[gnu::target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl"), gnu::noinline]] static ResultCode
  emit(const std::byte* slot, std::byte* frame, std::size_t bytes,
       WideOperation operation) noexcept {
    return detail::emit_all<Operator>(slot, frame, bytes, operation);
  }
};

#endif

/// The functions of an operator, compiled for a target.
template <template <typename> typename Target, typename Operator>
inline constexpr WideFunctions wide_functions_of = [] {
  WideFunctions functions{WideCopy::into_slot, Target<Operator>::add, Target<Operator>::end,
                          WideCopy::out_of_slot};
  if constexpr (!Operator::copies_in) {
    functions.begin = Target<Operator>::begin;
  }
  if constexpr (!Operator::copies_out) {
    functions.emit = Target<Operator>::emit;
  }
  return functions;
}();

} // namespace tributary::reduce
