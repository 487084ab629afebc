// How threads share the process's host.
#include "endpoint/mpi/intra_node/fabric_host.hpp"

#include <gtest/gtest.h>

namespace tributary::mpi::intra_node::test {
namespace {

using std::chrono::microseconds;

TEST(FabricHost, AThreadThatWaitsForLongLetsOthersHaveTheirTurnSoon) {
  EXPECT_EQ(slice_of_wait(microseconds(0), false), microseconds(100));
  EXPECT_EQ(slice_of_wait(microseconds(8000), false), microseconds(1000));
  EXPECT_EQ(slice_of_wait(microseconds(10'000'000), false), microseconds(2000));
  EXPECT_EQ(slice_of_wait(microseconds(10'000'000), true), microseconds(500));
}

} // namespace
} // namespace tributary::mpi::intra_node::test
