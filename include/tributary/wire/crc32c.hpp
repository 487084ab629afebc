// CRC32C, the Castagnoli polynomial of iSCSI (RFC 3720, appendix B.4), by the processor's own
// instruction if the build's baseline has one, otherwise by table.
//
//   Crc32c crc;
//   crc.add(first.data(), first.size());
//   crc.add(then.data(), then.size());          the same as over the concatenation
//   crc.value()
//
// Reflected, begins with all ones and ends inverted: "123456789" gives 0xE3069283.
#pragma once

#include "tributary/wire/byte_order.hpp"

#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__SSE4_2__) || defined(__ARM_FEATURE_CRC32)
#define TRIBUTARY_CRC32C_INSTRUCTION 1
#endif

namespace tributary::wire {

namespace crc32c_detail {

inline constexpr std::uint32_t polynomial = 0x82F63B78; ///< reflected

/// Tables for eight bytes per step ("slicing by eight"): row k is for a byte with k bytes after it.
inline constexpr auto tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> t{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1U) != 0 ? polynomial : 0);
    }
    t[0][byte] = crc;
  }
  for (std::size_t row = 1; row < t.size(); ++row) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = t[row - 1][byte];
      t[row][byte] = before >> 8 ^ t[0][before & 0xFF];
    }
  }
  return t;
}();

inline std::uint32_t add_by_table(std::uint32_t crc, const std::byte* at, std::size_t length) {
  for (; length >= 8; at += 8, length -= 8) {
    const std::uint64_t word = load_le<std::uint64_t>(at) ^ crc;
    crc = 0;
    for (unsigned byte = 0; byte < 8; ++byte) {
      crc ^= tables[7 - byte][word >> (8 * byte) & 0xFF];
    }
  }
  for (; length > 0; ++at, --length) {
    crc = crc >> 8 ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xFF];
  }
  return crc;
}

/// The effect of zeros after a message on its CRC. Linear, so it is defined by its effect on each
/// bit.
class Zeros {
public:
  explicit constexpr Zeros(std::size_t count) {
    std::array<std::uint32_t, 32> bits{}; // image of each bit
    for (std::size_t bit = 0; bit < bits.size(); ++bit) {
      bits[bit] = std::uint32_t{1} << bit;
    }
    auto doubling = bits; // by 1, 2, 4... zeros
    for (std::uint32_t& of_bit : doubling) {
      of_bit = of_bit >> 8 ^ tables[0][of_bit & 0xFF];
    }
    for (; count > 0; count >>= 1) {
      if ((count & 1) != 0) {
        bits = after(bits, doubling);
      }
      doubling = after(doubling, doubling);
    }
    for (std::size_t byte = 0; byte < of_byte_.size(); ++byte) {
      for (std::uint32_t value = 1; value < 256; ++value) {
        const std::uint32_t lowest = value & (~value + 1);
        std::size_t bit = 0;
        for (; lowest >> bit != 1; ++bit) {
        }
        of_byte_[byte][value] = of_byte_[byte][value ^ lowest] ^ bits[8 * byte + bit];
      }
    }
  }
  [[nodiscard]] constexpr std::uint32_t behind(std::uint32_t crc) const {
    return of_byte_[0][crc & 0xFF] ^ of_byte_[1][crc >> 8 & 0xFF] ^ of_byte_[2][crc >> 16 & 0xFF] ^
           of_byte_[3][crc >> 24];
  }

private:
  using Bits = std::array<std::uint32_t, 32>;
  /// Composition: first `first`, then `then`.
  static constexpr Bits after(const Bits& first, const Bits& then) {
    Bits both{};
    for (std::size_t bit = 0; bit < both.size(); ++bit) {
      for (std::size_t i = 0; i < then.size(); ++i) {
        both[bit] ^= (first[bit] >> i & 1U) != 0 ? then[i] : 0;
      }
    }
    return both;
  }
  std::array<std::array<std::uint32_t, 256>, 4> of_byte_{};
};

#if defined(TRIBUTARY_CRC32C_INSTRUCTION)
// The processor's instruction, over eight, four and one byte. The upper half of the first one's
// argument and result is zero.
inline std::uint64_t of_eight(std::uint64_t crc, std::uint64_t bytes) {
#if defined(__SSE4_2__)
  return __builtin_ia32_crc32di(crc, bytes);
#else
  return __crc32cd(static_cast<std::uint32_t>(crc), bytes);
#endif
}
inline std::uint32_t of_four(std::uint32_t crc, std::uint32_t bytes) {
#if defined(__SSE4_2__)
  return __builtin_ia32_crc32si(crc, bytes);
#else
  return __crc32cw(crc, bytes);
#endif
}
inline std::uint32_t of_one(std::uint32_t crc, std::byte byte) {
#if defined(__SSE4_2__)
  return __builtin_ia32_crc32qi(crc, std::to_integer<std::uint8_t>(byte));
#else
  return __crc32cb(crc, std::to_integer<std::uint8_t>(byte));
#endif
}

template <std::size_t Lane> inline constexpr Zeros zeros_of_a_lane{Lane};

/// An instruction depends on the previous one for three cycles, and one can begin in each: so three
/// parts of the message are processed in parallel, and combined by the length of what follows each.
/// Processes as many whole triples of lanes as there are.
template <std::size_t Lane>
inline std::uint32_t add_three_lanes(std::uint32_t crc, const std::byte*& at, std::size_t& length) {
  for (; length >= 3 * Lane; at += 3 * Lane, length -= 3 * Lane) {
    std::uint64_t first = crc;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < Lane; i += 8) {
      first = of_eight(first, load_le<std::uint64_t>(at + i));
      second = of_eight(second, load_le<std::uint64_t>(at + Lane + i));
      third = of_eight(third, load_le<std::uint64_t>(at + 2 * Lane + i));
    }
    const Zeros& zeros = zeros_of_a_lane<Lane>;
    crc = zeros.behind(static_cast<std::uint32_t>(first)) ^ static_cast<std::uint32_t>(second);
    crc = zeros.behind(crc) ^ static_cast<std::uint32_t>(third);
  }
  return crc;
}

inline std::uint32_t add_by_instruction(std::uint32_t crc, const std::byte* at,
                                        std::size_t length) {
  crc = add_three_lanes<1024>(crc, at, length);
  crc = add_three_lanes<128>(crc, at, length);
  std::uint64_t wide = crc;
  for (; length >= 8; at += 8, length -= 8) {
    wide = of_eight(wide, load_le<std::uint64_t>(at));
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; length > 0; ++at, --length) {
    crc = of_one(crc, *at);
  }
  return crc;
}
#endif

inline std::uint32_t add(std::uint32_t crc, const std::byte* at, std::size_t length) {
#if defined(TRIBUTARY_CRC32C_INSTRUCTION)
  return add_by_instruction(crc, at, length);
#else
  return add_by_table(crc, at, length);
#endif
}

} // namespace crc32c_detail

class Crc32c {
public:
  void add(const std::byte* at, std::size_t length) {
    state_ = crc32c_detail::add(state_, at, length);
  }
  /// The same for a length that is known at compile time and short: a few instructions, inlined.
  template <std::size_t Length> [[gnu::always_inline]] void add(const std::byte* at) {
    static_assert(Length < 3 * 128);
#if defined(TRIBUTARY_CRC32C_INSTRUCTION)
    std::uint64_t wide = state_;
    for (std::size_t i = 0; i + 8 <= Length; i += 8) {
      wide = crc32c_detail::of_eight(wide, load_le<std::uint64_t>(at + i));
    }
    state_ = static_cast<std::uint32_t>(wide);
    if constexpr (Length % 8 >= 4) {
      state_ = crc32c_detail::of_four(state_, load_le<std::uint32_t>(at + (Length & ~7U)));
    }
    for (std::size_t i = Length & ~3U; i < Length; ++i) {
      state_ = crc32c_detail::of_one(state_, at[i]);
    }
#else
    add(at, Length);
#endif
  }
  [[nodiscard]] std::uint32_t value() const { return ~state_; }

private:
  std::uint32_t state_ = ~std::uint32_t{0};
};

} // namespace tributary::wire
