// FLT_SUM of binary16 on processors with F16C: eight elements at a time, each widened and narrowed
// by one instruction that rounds, and raises flags, according to MXCSR. A prototype gained nothing
// from the wider vectors of AVX-512. Same bits and codes as wide_narrow_sum.hpp.
//
// No compiler generates these instructions from a loop over elements, hence the built-in functions,
// which gcc and clang have in common. A rest of less than eight is filled with zeros, which raise
// nothing.
#pragma once

#if defined(__x86_64__)

#include "tributary/reduce/float_format.hpp"
#include "tributary/reduce/sum_environment.hpp"
#include "tributary/reduce/wide_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::reduce {

class WideHalfSum {
public:
  [[gnu::target("avx2,f16c"), gnu::noinline]] static ResultCode
  begin(std::byte* slot, const std::byte* frame, std::size_t bytes,
        WideOperation operation) noexcept {
    const RegisterSums environment(operation, Flush::nothing);
    std::size_t at = 0;
    for (; at + block_bytes <= bytes; at += block_bytes) {
      const Floats in = widened(load_halves(frame + at, block_bytes));
      store_floats(slot + 2 * at, in == in ? (Words)in : canonical_words(), 2 * block_bytes);
    }
    if (at < bytes) {
      const Floats in = widened(load_halves(frame + at, bytes - at));
      store_floats(slot + 2 * at, in == in ? (Words)in : canonical_words(), 2 * (bytes - at));
    }
    return environment.raised();
  }

  [[gnu::target("avx2,f16c"), gnu::noinline]] static ResultCode
  add(std::byte* slot, const std::byte* frame, std::size_t bytes,
      WideOperation operation) noexcept {
    const RegisterSums environment(operation, Flush::nothing);
    std::size_t at = 0;
    for (; at + block_bytes <= bytes; at += block_bytes) {
      const Floats sum = load_floats(slot + 2 * at, 2 * block_bytes) +
                         widened(load_halves(frame + at, block_bytes));
      store_floats(slot + 2 * at, sum == sum ? (Words)sum : canonical_words(), 2 * block_bytes);
    }
    if (at < bytes) {
      const std::size_t rest = bytes - at;
      const Floats sum =
          load_floats(slot + 2 * at, 2 * rest) + widened(load_halves(frame + at, rest));
      store_floats(slot + 2 * at, sum == sum ? (Words)sum : canonical_words(), 2 * rest);
    }
    return environment.raised();
  }

  [[gnu::target("avx2,f16c"), gnu::noinline]] static ResultCode
  end(const std::byte* slot, std::byte* frame, std::size_t bytes,
      WideOperation operation) noexcept {
    const RegisterSums environment(operation, Flush::nothing);
    const Halves flush = flush_mask(operation);
    Halves flushed{};
    std::size_t at = 0;
    for (; at + block_bytes <= bytes; at += block_bytes) {
      const Floats sum = load_floats(slot + 2 * at, 2 * block_bytes) +
                         widened(load_halves(frame + at, block_bytes));
      store_halves(frame + at, narrowed(sum, flush, flushed), block_bytes);
    }
    if (at < bytes) {
      const std::size_t rest = bytes - at;
      const Floats sum =
          load_floats(slot + 2 * at, 2 * rest) + widened(load_halves(frame + at, rest));
      store_halves(frame + at, narrowed(sum, flush, flushed), rest);
    }
    return worse(environment.raised(), code_of(flushed));
  }

  [[gnu::target("avx2,f16c"), gnu::noinline]] static ResultCode
  emit(const std::byte* slot, std::byte* frame, std::size_t bytes,
       WideOperation operation) noexcept {
    const RegisterSums environment(operation, Flush::nothing);
    const Halves flush = flush_mask(operation);
    Halves flushed{};
    std::size_t at = 0;
    for (; at + block_bytes <= bytes; at += block_bytes) {
      const Floats sum = load_floats(slot + 2 * at, 2 * block_bytes);
      store_halves(frame + at, narrowed(sum, flush, flushed), block_bytes);
    }
    if (at < bytes) {
      const std::size_t rest = bytes - at;
      store_halves(frame + at, narrowed(load_floats(slot + 2 * at, 2 * rest), flush, flushed),
                   rest);
    }
    return worse(environment.raised(), code_of(flushed));
  }

private:
  using Floats = float __attribute__((vector_size(32)));
  using Words = std::int32_t __attribute__((vector_size(32)));
  using Halves = std::int16_t __attribute__((vector_size(16)));

  static constexpr std::size_t block_bytes = sizeof(Halves);

  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline Words canonical_words() noexcept {
    constexpr std::int32_t nan = Binary32::canonical_nan;
    return Words{nan, nan, nan, nan, nan, nan, nan, nan};
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline Halves
  all(std::int16_t h) noexcept {
    return Halves{h, h, h, h, h, h, h, h};
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline Halves
  load_halves(const std::byte* from, std::size_t bytes) noexcept {
    Halves v{};
    std::memcpy(&v, from, bytes);
    return v;
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void
  store_halves(std::byte* to, Halves v, std::size_t bytes) noexcept {
    std::memcpy(to, &v, bytes);
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline Floats
  load_floats(const std::byte* from, std::size_t bytes) noexcept {
    Floats v{};
    std::memcpy(&v, from, bytes);
    return v;
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void
  store_floats(std::byte* to, Words v, std::size_t bytes) noexcept {
    std::memcpy(to, &v, bytes);
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline Floats widened(Halves v) noexcept {
    return __builtin_ia32_vcvtph2ps256(v);
  }
  /// Makes any NaN canonical; with bits in `flush`, flushes subnormals, noted in `flushed`.
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline Halves
  narrowed(Floats v, Halves flush, Halves& flushed) noexcept {
    constexpr int rounding_of_mxcsr = 4;
    const auto halves = (Halves)__builtin_ia32_vcvtps2ph256(v, rounding_of_mxcsr);
    const Halves magnitude = halves & all(Binary16::magnitude);
    const Halves subnormal =
        (magnitude < all(Binary16::least_normal)) & (magnitude > Halves{}) & flush;
    flushed |= subnormal;
    const Halves kept = halves & ~(subnormal & all(Binary16::magnitude));
    return magnitude > all(Binary16::infinity) ? all(Binary16::canonical_nan) : kept;
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline Halves
  flush_mask(WideOperation operation) noexcept {
    return all(wire::flushes_to_zero(operation.op) ? std::int16_t{-1} : std::int16_t{0});
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline ResultCode
  code_of(Halves flushed) noexcept {
    std::uint64_t words[2];
    std::memcpy(words, &flushed, sizeof words);
    return (words[0] | words[1]) != 0 ? ResultCode::flt_inexact : ResultCode::success;
  }
};

} // namespace tributary::reduce

#endif
