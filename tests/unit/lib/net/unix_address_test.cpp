#include "lib/net/unix_address.hpp"

#include "lib/net/file_descriptor.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gtest/gtest.h>

#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace tributary::net {
namespace {

/// Whether one socket that is bound there is found by another.
bool meet_at(const UnixAddress& address) {
  const FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const FileDescriptor caller(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::bind(listener.get(), address.get(), address.size()) == 0 &&
         ::listen(listener.get(), 1) == 0 &&
         ::connect(caller.get(), address.get(), address.size()) == 0;
}

TEST(unix_address, of_a_file_is_where_the_file_is) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch.file("x.sock");
  EXPECT_TRUE(meet_at(*UnixAddress::of_file(path)));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
}

TEST(unix_address, of_the_longest_path_is_whole) {
  const test::ScratchDirectory scratch;
  std::string path = scratch.file("");
  path.append(UnixAddress::longest_path - path.size(), 'x');
  EXPECT_TRUE(meet_at(*UnixAddress::of_file(path)));
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  EXPECT_FALSE(UnixAddress::of_file(path + "x"));
}

TEST(unix_address, in_the_abstract_namespace_has_no_file) {
  const std::string name = "tributary-unit-net-" + std::to_string(::getpid());
  EXPECT_TRUE(meet_at(*UnixAddress::abstract(name)));
  EXPECT_NE(::access(name.c_str(), F_OK), 0);
  EXPECT_TRUE(UnixAddress::abstract(std::string(UnixAddress::longest_path, 'x')));
  EXPECT_FALSE(UnixAddress::abstract(std::string(UnixAddress::longest_path + 1, 'x')));
}

TEST(unix_address, of_nothing_is_none) {
  EXPECT_FALSE(UnixAddress::of_file(""));
  EXPECT_FALSE(UnixAddress::abstract(""));
}

} // namespace
} // namespace tributary::net
