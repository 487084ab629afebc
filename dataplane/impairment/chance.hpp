// The random bits of one direction of one link. Seeded; independent of the standard library's
// distributions.
#pragma once

#include <cstdint>
#include <random>

namespace tributary::impairment {

/// A probability as the number of 2^63 draws that hit; exact for 0 and 1.
class Probability {
public:
  constexpr explicit Probability(double probability)
      : threshold_(static_cast<std::uint64_t>(probability * 0x1p63)) {}
  [[nodiscard]] constexpr bool impossible() const { return threshold_ == 0; }
  [[nodiscard]] constexpr bool hit_by(std::uint64_t draw) const { return draw >> 1 < threshold_; }

private:
  std::uint64_t threshold_;
};

class Chance {
public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}

  /// Draws nothing if impossible.
  bool occurs(Probability p) { return !p.impossible() && p.hit_by(random_()); }
  /// 0 to `most`; draws nothing for 0.
  std::uint64_t up_to(std::uint64_t most) { return most == 0 ? 0 : random_() % (most + 1); }

private:
  std::mt19937_64 random_;
};

} // namespace tributary::impairment
