#include "endpoint/collective/sequence.hpp"

#include <gtest/gtest.h>

namespace tributary::collective {
namespace sequence_test {

TEST(Sequence, SuccessorSkipsTheTwoReservedNumbers) {
  EXPECT_EQ(successor(SequenceNumber{7}).value(), 8);
  EXPECT_EQ(successor(SequenceNumber{1021}).value(), 0);
}

TEST(Sequence, NewerAcrossTheWrap) {
  EXPECT_TRUE(is_newer(SequenceNumber{0}, SequenceNumber{1021}));
  EXPECT_FALSE(is_newer(SequenceNumber{1021}, SequenceNumber{0}));
  EXPECT_FALSE(is_newer(SequenceNumber{5}, SequenceNumber{5}));
}

TEST(Sequence, OfTwoNumbersAtMostOneIsNewer) {
  for (std::uint32_t a = 0; a < usable_sequences; ++a) {
    const SequenceNumber x{a};
    const SequenceNumber y{(a + 510) % usable_sequences};
    EXPECT_TRUE(is_newer(y, x));
    EXPECT_FALSE(is_newer(x, y));
    const SequenceNumber opposite{(a + 511) % usable_sequences};
    EXPECT_FALSE(is_newer(opposite, x) || is_newer(x, opposite));
  }
}

} // namespace sequence_test
} // namespace tributary::collective
