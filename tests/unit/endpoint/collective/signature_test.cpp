#include "endpoint/collective/signature.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tributary::collective {
namespace signature_test {

constexpr Cookie cookie{0xC0FFEE};

std::uint64_t sum_of_all(std::uint32_t size, PieceNumber piece) {
  std::uint64_t sum = 0;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    sum += signature_of_piece(signature_base(cookie, rank), piece);
  }
  return sum & wire::signature_mask;
}

TEST(Signature, EverybodyOnceGivesTheExpectedSum) {
  const SignatureSum sum(cookie, 1000);
  for (const PieceNumber piece :
       {PieceNumber{0}, PieceNumber{1}, PieceNumber{8}, PieceNumber{1} << 40}) {
    EXPECT_EQ(sum_of_all(1000, piece), sum.expected(piece));
  }
}

TEST(Signature, SumOfAnotherPieceDiffers) {
  const SignatureSum sum(cookie, 16);
  for (PieceNumber piece = 1; piece < 10'000; ++piece) {
    ASSERT_NE(sum.expected(piece), sum.expected(piece - 1));
    ASSERT_NE(sum.expected(piece), sum.expected(piece + reductions_per_tree));
  }
}

TEST(Signature, NoTwoRanksOfALargeGroupShareOne) {
  std::set<std::uint64_t> seen;
  for (std::uint32_t rank = 0; rank < 100'000; ++rank) {
    const std::uint64_t base = signature_base(cookie, rank);
    EXPECT_NE(base, 0U);
    EXPECT_LE(base, wire::signature_mask);
    seen.insert(base);
  }
  EXPECT_EQ(seen.size(), 100'000U);
}

TEST(Signature, OneTwiceInsteadOfAnotherChangesTheSum) {
  constexpr std::uint32_t size = 64;
  const SignatureSum sum(cookie, size);
  for (std::uint32_t twice = 0; twice < size; ++twice) {
    for (std::uint32_t missing = 0; missing < size; ++missing) {
      if (twice == missing) {
        continue;
      }
      const std::uint64_t wrong =
          (sum_of_all(size, 3) + signature_of_piece(signature_base(cookie, twice), 3) -
           signature_of_piece(signature_base(cookie, missing), 3)) &
          wire::signature_mask;
      ASSERT_NE(wrong, sum.expected(3)) << twice << " instead of " << missing;
    }
  }
}

} // namespace signature_test
} // namespace tributary::collective
