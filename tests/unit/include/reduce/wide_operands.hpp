// Vectors for wide frames, and the memory that kernels work in: frames at any address, slots, both
// with guards around them.
#pragma once

#include "tests/unit/include/reduce/wide_reference.hpp"
#include "tests/unit/include/wire/seed.hpp"
#include "tributary/reduce/wide_kernel.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace tributary::test::wide {

using Vector = Reference::Vector;

/// How much of the unusual a vector holds; in long ones the worst element hides all others.
enum class Kind : std::uint8_t { exact, numbers, large, anything };

/// A random operand of this kind, special values included.
inline std::uint64_t random_float(Random& random, const Format& f, Kind kind, std::uint64_t other) {
  const std::uint64_t fraction_mask = (std::uint64_t{1} << f.fraction) - 1;
  const std::uint64_t sign = random() % 2 == 0 ? 0 : f.sign();
  const auto one = static_cast<std::uint64_t>(f.bias());
  const std::uint64_t top = f.infinity() >> f.fraction;
  const auto with_exponent = [&](std::uint64_t exponent) {
    return sign | exponent << f.fraction | (random() & fraction_mask);
  };
  switch (kind) {
  case Kind::exact: return f.bits_of(static_cast<double>(random() % 17) - 8);
  case Kind::numbers: return with_exponent(one - 3 + random() % 6);
  case Kind::large: return with_exponent(top - 1 - random() % 2);
  case Kind::anything: break;
  }
  const std::uint64_t magnitude = other & (f.sign() - 1);
  const std::uint64_t specials[] = {0,
                                    1,
                                    fraction_mask,
                                    fraction_mask + 1,
                                    fraction_mask + 2,
                                    one << f.fraction,
                                    one << f.fraction | 1,
                                    f.infinity() - 1,
                                    f.infinity() - 2,
                                    f.infinity(),
                                    f.infinity() | 1,
                                    f.nan() - 1,
                                    f.nan(),
                                    f.nan() | 1,
                                    f.sign() - 1};
  switch (random() % 12) {
  case 0:
  case 1: return sign | specials[random() % std::size(specials)];
  case 2: return other;
  case 3: return other ^ f.sign();
  case 4: return sign | (magnitude + random() % 5) % f.sign();
  case 5: return with_exponent(random() % 3);
  case 6: return with_exponent(top - random() % 3);
  case 7:
  case 8: return with_exponent(((magnitude >> f.fraction) + top - 9 + random() % 19) % top);
  default: return random() & (f.sign() | (f.sign() - 1));
  }
}

inline std::uint64_t random_integer(Random& random, int bits, Kind kind) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  const std::uint64_t lowest = std::uint64_t{1} << (bits - 1);
  switch (kind == Kind::anything ? random() % 4 : static_cast<std::uint64_t>(kind)) {
  case 0: return (random() % 9 - 4) & mask;
  case 1: return (random() % lowest / 4 - lowest / 8) & mask;
  case 2: return (lowest + random() % 3 - 1) & mask;
  default: return random() & mask;
  }
}

/// The second operand for `other`, of the same length.
inline Vector random_vector(Random& random, Opcode op, Form form, Kind kind, const Vector& other) {
  Vector v(other.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    v[i] = wire::is_flt_lane(op)
               ? random_float(random, format_of(form), kind, other[i])
               : random_integer(random, static_cast<int>(8 * wire::element_bytes(form)), kind);
  }
  return v;
}

/// Bytes with guards on both sides that must not be written.
class Guarded {
public:
  static constexpr std::byte guard{0xA5};
  static constexpr std::size_t margin = 64;

  Guarded(std::size_t bytes, std::size_t offset)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(64, room(bytes + offset))), &std::free),
        offset_(margin + offset), bytes_(bytes) {
    std::memset(memory_.get(), static_cast<int>(guard), room(bytes + offset));
    room_ = room(bytes + offset);
  }
  [[nodiscard]] std::byte* data() const { return memory_.get() + offset_; }
  [[nodiscard]] std::span<std::byte> span() const { return {data(), bytes_}; }
  [[nodiscard]] bool intact() const {
    for (std::size_t i = 0; i < room_; ++i) {
      if ((i < offset_ || i >= offset_ + bytes_) && memory_.get()[i] != guard) {
        return false;
      }
    }
    return true;
  }

private:
  static std::size_t room(std::size_t bytes) { return (bytes + 2 * margin + 63) / 64 * 64; }

  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
  std::size_t offset_;
  std::size_t bytes_;
  std::size_t room_ = 0;
};

inline void put(std::byte* to, Form form, const Vector& v) {
  const std::size_t size = wire::element_bytes(form);
  for (std::size_t i = 0; i < v.size(); ++i) {
    for (std::size_t byte = 0; byte < size; ++byte) {
      to[i * size + byte] = static_cast<std::byte>(v[i] >> 8 * byte);
    }
  }
}
inline Vector taken(const std::byte* from, Form form, std::size_t count) {
  const std::size_t size = wire::element_bytes(form);
  Vector v(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < size; ++byte) {
      v[i] |= std::to_integer<std::uint64_t>(from[i * size + byte]) << 8 * byte;
    }
  }
  return v;
}

} // namespace tributary::test::wide
