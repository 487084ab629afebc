#include "terminal/descriptor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tributary::terminal {
namespace {

class a_pseudo_terminal : public testing::Test {
protected:
  a_pseudo_terminal() {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ >= 0 && ::grantpt(master_) == 0 && ::unlockpt(master_) == 0) {
      terminal_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    }
  }
  ~a_pseudo_terminal() override {
    ::close(terminal_);
    ::close(master_);
  }
  void SetUp() override {
    if (terminal_ < 0) {
      GTEST_SKIP() << "no pseudo-terminal to be had here";
    }
  }
  int master_ = -1;
  int terminal_ = -1;
};

TEST_F(a_pseudo_terminal, is_a_terminal_and_has_the_size_it_was_given) {
  EXPECT_TRUE(is_terminal(terminal_));
  winsize given{};
  given.ws_col = 132;
  given.ws_row = 43;
  ASSERT_EQ(::ioctl(master_, TIOCSWINSZ, &given), 0);
  EXPECT_EQ(size_of(terminal_).columns, 132U);
  EXPECT_EQ(size_of(terminal_).rows, 43U);
}

TEST_F(a_pseudo_terminal, gets_colours_unless_they_are_unwanted) {
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(wants_colours(terminal_));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_colours(terminal_));
  ::unsetenv("NO_COLOR");
}

TEST(a_file, is_no_terminal_and_counts_as_80_by_24) {
  const int file = ::open("/dev/null", O_WRONLY);
  EXPECT_FALSE(is_terminal(file));
  EXPECT_FALSE(wants_colours(file));
  EXPECT_EQ(size_of(file).columns, 80U);
  EXPECT_EQ(size_of(file).rows, 24U);
  ::close(file);
}

} // namespace
} // namespace tributary::terminal
