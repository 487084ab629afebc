// Quotients and remainders are those of the language, also where the factor is no longer exact.
#include "pktgen/traffic/divisor.hpp"

#include "tributary/random.hpp"

#include <gtest/gtest.h>

namespace tributary::pktgen::traffic {
namespace {

TEST(Divisor, DividesAsTheLanguageDoes) {
  Random random(3);
  for (const std::uint64_t by :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{13}, std::uint64_t{128},
        std::uint64_t{2841}, std::uint64_t{1} << 22, (std::uint64_t{1} << 22) - 1}) {
    const Divisor divisor(by);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t near = random.next() >> random.next() % 64;
      for (const std::uint64_t n : {near, near / by * by, near / by * by - 1,
                                    ~std::uint64_t{0} / by, ~std::uint64_t{0} / by - 1}) {
        ASSERT_EQ(divisor.quotient(n), n / by) << n << " by " << by;
        ASSERT_EQ(divisor.remainder(n), n % by) << n << " by " << by;
      }
    }
  }
}

} // namespace
} // namespace tributary::pktgen::traffic
