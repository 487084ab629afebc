#include "lib/net/file_descriptor.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <type_traits>
#include <utility>

#include <fcntl.h>

namespace tributary::net {
namespace {

FileDescriptor nothing_in_particular() {
  return FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
}
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

static_assert(!std::is_copy_constructible_v<FileDescriptor>);
static_assert(!std::is_copy_assignable_v<FileDescriptor>);
static_assert(std::is_nothrow_move_constructible_v<FileDescriptor>);

TEST(file_descriptor, is_closed_with_its_owner) {
  int fd = -1;
  {
    const FileDescriptor owner = nothing_in_particular();
    fd = owner.get();
    ASSERT_TRUE(owner);
    ASSERT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(file_descriptor, of_a_failed_call_is_none) {
  FileDescriptor none(::open("/nonexistent/file", O_RDONLY));
  EXPECT_FALSE(none);
  EXPECT_LT(none.get(), 0);
  EXPECT_EQ(none.close(), 0) << "nothing to close is not an error";
}

TEST(file_descriptor, moves_and_leaves_none_behind) {
  FileDescriptor from = nothing_in_particular();
  const int fd = from.get();
  FileDescriptor to(std::move(from));
  EXPECT_FALSE(from); // NOLINT(bugprone-use-after-move): what it is then is promised
  EXPECT_EQ(to.get(), fd);
  EXPECT_TRUE(is_open(fd));
}

TEST(file_descriptor, that_is_assigned_to_closes_what_it_had) {
  FileDescriptor target = nothing_in_particular();
  const int before = target.get();
  FileDescriptor source = nothing_in_particular();
  const int after = source.get();
  target = std::move(source);
  EXPECT_FALSE(is_open(before)) << "at once, not when the source goes";
  EXPECT_EQ(target.get(), after);
  EXPECT_TRUE(is_open(after));
}

TEST(file_descriptor, assigned_to_itself_stays) {
  FileDescriptor one = nothing_in_particular();
  const int fd = one.get();
  FileDescriptor& same = one;
  one = std::move(same);
  EXPECT_EQ(one.get(), fd);
  EXPECT_TRUE(is_open(fd));
}

TEST(file_descriptor, that_is_released_stays_open) {
  int fd = -1;
  {
    FileDescriptor owner = nothing_in_particular();
    fd = owner.release();
    EXPECT_FALSE(owner);
  }
  ASSERT_TRUE(is_open(fd));
  const FileDescriptor closes_it(fd);
}

TEST(file_descriptor, reports_once_what_closing_says) {
  FileDescriptor owner = nothing_in_particular();
  FileDescriptor behind_its_back(owner.get());
  ASSERT_EQ(behind_its_back.close(), 0);
  EXPECT_EQ(owner.close(), EBADF);
  EXPECT_EQ(owner.close(), 0);
}

} // namespace
} // namespace tributary::net
