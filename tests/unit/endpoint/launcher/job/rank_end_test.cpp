#include "endpoint/launcher/job/rank_end.hpp"

#include <gtest/gtest.h>

namespace tributary::launch::job {
namespace {

constexpr int exit_with(int code) { return code << 8; }

RankEnd end_with(int status, bool connected = true, bool finalized = true) {
  return {3, "ns2", 4711, status, connected, finalized};
}

TEST(EndPhase, IsAFailureUnlessItIsQuiet) {
  EXPECT_FALSE(failed(end_with(0)));
  EXPECT_FALSE(failed(end_with(0, false, false))) << "a program that is not an MPI program";
  EXPECT_TRUE(failed(end_with(0, true, false))) << "the others would wait for it";
  EXPECT_TRUE(failed(end_with(exit_with(1))));
  EXPECT_TRUE(failed(end_with(9)));
}

TEST(EndPhase, HasTheExitCodeOfAShell) {
  EXPECT_EQ(exit_code_of(end_with(0)), 0);
  EXPECT_EQ(exit_code_of(end_with(exit_with(3))), 3);
  EXPECT_EQ(exit_code_of(end_with(9)), 137);
  EXPECT_EQ(exit_code_of(end_with(11 | 0x80)), 139) << "with a core file";
  EXPECT_EQ(exit_code_of(end_with(0, true, false)), 1);
}

TEST(EndPhase, NamesRankNodeAndProcess) {
  EXPECT_EQ(text_of(end_with(9)), "rank 3 on ns2 (process 4711) was killed by signal 9 (Killed)");
  EXPECT_EQ(text_of(end_with(exit_with(2))), "rank 3 on ns2 (process 4711) ended with exit code 2");
  EXPECT_NE(text_of(end_with(0, true, false)).find("without MPI_Finalize"), std::string::npos);
  EXPECT_NE(text_of(end_with(40)).find("signal 40"), std::string::npos);
}

} // namespace
} // namespace tributary::launch::job
