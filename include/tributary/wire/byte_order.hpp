// Unaligned loads and stores in wire order. Every field of a frame is big-endian except one debug
// field (the sender's rank), so both directions exist.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::wire {

template <std::unsigned_integral T> constexpr T swap_bytes(T v) {
  if constexpr (sizeof(T) == 1) {
    return v;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(v);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(v);
  } else {
    return __builtin_bswap64(v);
  }
}

template <std::unsigned_integral T> inline T load_be(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return std::endian::native == std::endian::big ? v : swap_bytes(v);
}
template <std::unsigned_integral T> inline void store_be(std::byte* p, T v) {
  if constexpr (std::endian::native != std::endian::big) {
    v = swap_bytes(v);
  }
  std::memcpy(p, &v, sizeof v);
}
template <std::unsigned_integral T> inline T load_le(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return std::endian::native == std::endian::little ? v : swap_bytes(v);
}
template <std::unsigned_integral T> inline void store_le(std::byte* p, T v) {
  if constexpr (std::endian::native != std::endian::little) {
    v = swap_bytes(v);
  }
  std::memcpy(p, &v, sizeof v);
}

} // namespace tributary::wire
