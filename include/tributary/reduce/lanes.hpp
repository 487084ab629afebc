// Four 64-bit lanes, two at a time, in the compilers' portable vector types: SSE on x86-64, NEON on
// ARM, plain integers elsewhere. Sixteen bytes instead of 32, because the generic x86-64 baseline
// has no wider registers and no calling convention for them.
//
// Lanes are signed integers even if they hold doubles: every operator except FLT_SUM works on bit
// patterns, and so depends on no floating-point state of the thread and raises no exception in it.
//
//     for_each_pair(acc, in, [](LanePair a, LanePair b) { return a < b ? a : b; });   // INT_MIN
#pragma once

#include "tributary/wire/reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::reduce {

using LanePair = std::int64_t __attribute__((vector_size(16)));
/// For arithmetic that wraps.
using UnsignedLanePair = std::uint64_t __attribute__((vector_size(16)));

inline LanePair load_pair(const std::uint64_t* words) noexcept {
  LanePair pair;
  std::memcpy(&pair, words, sizeof pair);
  return pair;
}
inline void store_pair(std::uint64_t* words, LanePair pair) noexcept {
  std::memcpy(words, &pair, sizeof pair);
}

/// acc[i] = f(acc[i], in[i]) for all four lanes, lanes 0 and 1 first.
template <typename F>
inline void for_each_pair(wire::Payload& acc, const wire::Payload& in, F f) noexcept {
  for (std::size_t i = 0; i < 4; i += 2) {
    store_pair(&acc[i], f(load_pair(&acc[i]), load_pair(&in[i])));
  }
}

/// Whether any bit is set.
inline bool any(LanePair mask) noexcept { return (mask[0] | mask[1]) != 0; }
/// Whether either lane is negative. In one instruction where available: compilers take the lanes
/// apart.
inline bool any_negative(LanePair lanes) noexcept {
#if defined(__SSE2__)
  using Pair = double __attribute__((vector_size(16)));
  return __builtin_ia32_movmskpd((Pair)lanes) != 0;
#else
  return (lanes[0] | lanes[1]) < 0;
#endif
}

} // namespace tributary::reduce
