// The seed of a run without a given one.
#pragma once

#include <cstdint>

namespace tributary {

/// A seed that users and programs can pass again, from any random number: not 0, which requests a
/// drawn one, and below 2^53, because JSON readers with doubles would round a larger one and repeat
/// another run.
constexpr std::uint64_t drawn_seed(std::uint64_t random) {
  constexpr std::uint64_t exact_in_doubles = std::uint64_t{1} << 53;
  return 1 + random % (exact_in_doubles - 1);
}

} // namespace tributary
