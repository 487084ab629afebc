// The only random source of code that must be reproducible from a seed: xoshiro256** seeded by
// splitmix64, with distributions of its own, because those of the standard library differ between
// implementations. The same seed gives the same run bit for bit on every compiler.
//
// Each part of a run draws from a stream of its own (`fork`), so that one more draw in the faults
// does not change the topology or the values that hosts contribute.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tributary {

class Random {
public:
  explicit constexpr Random(std::uint64_t seed) {
    for (auto& word : state_) {
      word = split_mix(seed);
    }
  }

  /// A stream that is independent of this one and of every other `stream` number.
  [[nodiscard]] constexpr Random fork(std::uint64_t stream) const {
    std::uint64_t mixed = stream ^ 0x5851F42D4C957F2DULL;
    return Random(split_mix(mixed) ^ std::rotl(state_[0], 17) ^ state_[2]);
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in 0 to n - 1; n must not be zero. The bias of the multiplication is below 2^-32 for
  /// every n used here.
  constexpr std::uint64_t below(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * n) >> 64);
  }
  /// Uniform in lowest to highest, both included.
  constexpr std::uint64_t between(std::uint64_t lowest, std::uint64_t highest) {
    return lowest + below(highest - lowest + 1);
  }
  /// True with this probability; draws nothing if it is 0.
  constexpr bool chance(double probability) {
    return probability > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }
  template <typename T> constexpr const T& pick(std::span<const T> choices) {
    return choices[below(choices.size())];
  }
  /// Fisher-Yates shuffle.
  template <typename Container> constexpr void shuffle(Container& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[below(i)]);
    }
  }

private:
  static constexpr std::uint64_t split_mix(std::uint64_t& state) {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::array<std::uint64_t, 4> state_{};
};

} // namespace tributary
