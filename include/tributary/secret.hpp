// Numbers that cannot be guessed without the secret: SipHash-2-4 (Aumasson, Bernstein 2012) of two
// words. Keys, identifiers and proofs that must be unforgeable come from here; numbers that only
// have to look random come from random.hpp, whose output reveals its state.
//
// Pure: programs draw the secret from the system, tests derive it from a seed.
#pragma once

#include "tributary/random.hpp"

#include <bit>
#include <cstdint>

namespace tributary {

class Secret {
public:
  constexpr Secret(std::uint64_t first, std::uint64_t second) : k0_(first), k1_(second) {}
  /// For reproducible runs.
  static constexpr Secret of_seed(std::uint64_t seed) {
    Random random(seed ^ 0x5345'4352'4554);
    const std::uint64_t first = random.next();
    return {first, random.next()};
  }

  /// SipHash-2-4 of the 16 bytes of `a` and `b`, each little-endian.
  [[nodiscard]] constexpr std::uint64_t of(std::uint64_t a, std::uint64_t b) const {
    State s{k0_ ^ 0x736F6D6570736575ULL, k1_ ^ 0x646F72616E646F6DULL, k0_ ^ 0x6C7967656E657261ULL,
            k1_ ^ 0x7465646279746573ULL};
    s.take(a);
    s.take(b);
    s.take(std::uint64_t{16} << 56); // number of bytes
    s.v2 ^= 0xFF;
    for (int i = 0; i < 4; ++i) {
      s.round();
    }
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
  }
  /// Another secret, which reveals nothing of this one.
  [[nodiscard]] constexpr Secret fork(std::uint64_t stream) const {
    return {of(stream, 0), of(stream, 1)};
  }

private:
  struct State {
    std::uint64_t v0, v1, v2, v3;
    constexpr void round() {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
    constexpr void take(std::uint64_t word) {
      v3 ^= word;
      round();
      round();
      v0 ^= word;
    }
  };
  std::uint64_t k0_;
  std::uint64_t k1_;
};

} // namespace tributary
