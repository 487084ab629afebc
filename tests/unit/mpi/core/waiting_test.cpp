#include "mpi/core/waiting.hpp"

#include <gtest/gtest.h>

namespace tributary::mpi::test {
namespace {

TEST(Waiting, LeadersSpinOnlyWhereAProcessorIsToSpare) {
  EXPECT_EQ(waiting(7, 8).spin_usec, 30U);
  EXPECT_EQ(waiting(8, 8).spin_usec, 0U);
  EXPECT_EQ(waiting(16, 2).spin_usec, 0U);
}

TEST(Waiting, RanksThatShareProcessorsSleepAtOnceUntilThereIsAResult) {
  EXPECT_TRUE(waiting(7, 8).yields);
  EXPECT_TRUE(waiting(8, 8).yields) << "each takes only its own";
  EXPECT_FALSE(waiting(9, 8).yields);
  EXPECT_FALSE(waiting(16, 2).yields);
}

} // namespace
} // namespace tributary::mpi::test
