// Seeds that are drawn survive a reader of JSON with doubles (tributary/drawn_seed.hpp).
#include "tributary/drawn_seed.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tributary {
namespace {

TEST(drawn_seed, is_the_same_as_a_double_and_never_0) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;
  for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{1}, exact - 2, exact - 1,
                                     exact, exact + 1, most >> 1, most}) {
    const std::uint64_t seed = drawn_seed(random);
    EXPECT_GT(seed, 0U) << random;
    EXPECT_LT(seed, exact) << random;
    EXPECT_EQ(static_cast<std::uint64_t>(static_cast<double>(seed)), seed) << random;
  }
}

} // namespace
} // namespace tributary
