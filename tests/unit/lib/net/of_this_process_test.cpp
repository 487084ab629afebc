// What threads may hold is left alone in a child process, and destroyed in its own.
#include "lib/net/of_this_process.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

namespace tributary::net {
namespace {

struct Counted {
  explicit Counted(int& destroyed) : destroyed_(destroyed) {}
  ~Counted() { ++destroyed_; }
  int& destroyed_;
};

TEST(OfThisProcess, IsFinishedAndDestroyedOnceWhereItWasMade) {
  int destroyed = 0;
  int finished = 0;
  {
    OfThisProcess<Counted> owned;
    EXPECT_FALSE(owned);
    EXPECT_TRUE(owned.end([&](Counted&) { ++finished; })) << "there is nothing to finish";
    owned.set(std::make_unique<Counted>(destroyed));
    EXPECT_TRUE(owned);
    EXPECT_TRUE(owned.end([&](Counted&) { ++finished; }));
    EXPECT_FALSE(owned);
  }
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(destroyed, 1);
}

TEST(OfThisProcess, IsLeftAloneInAChildProcess) {
  int destroyed = 0;
  {
    OfThisProcess<Counted> owned(std::make_unique<Counted>(destroyed));
    const pid_t child = ::fork();
    if (child == 0) {
      const bool here = owned.end([&](Counted&) { ++destroyed; });
      ::_exit(!here && !owned && destroyed == 0 ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(destroyed, 1) << "in the process that made it";
}

} // namespace
} // namespace tributary::net
