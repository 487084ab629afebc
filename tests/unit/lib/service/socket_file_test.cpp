#include "lib/service/socket_file.hpp"

#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>

namespace tributary::service {
namespace {

using testing::HasSubstr;

class socket_file : public testing::Test {
protected:
  static std::string error_of(const std::string& path) {
    return tributary::test::message_of<SocketError>([&] { return SocketFile(path).path(); });
  }

  tributary::test::ScratchDirectory scratch_;
  std::string directory_ = scratch_.path();
  std::string path_ = scratch_.file("switch.sock");
};

TEST_F(socket_file, has_mode_0660_and_goes_away) {
  {
    const SocketFile file(path_);
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 0777U, 0660U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(socket_file, makes_the_last_directory) {
  const SocketFile file(directory_ + "/run/switch.sock");
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/run/switch.sock"));
}

TEST_F(socket_file, says_that_the_directory_cannot_be_made) {
  EXPECT_THAT(error_of(directory_ + "/a/b/switch.sock"), HasSubstr("its directory cannot be made"));
}

TEST_F(socket_file, refuses_where_a_server_listens) {
  const SocketFile first(path_);
  EXPECT_THAT(error_of(path_), HasSubstr("a running process answers on it"));
  EXPECT_TRUE(std::filesystem::exists(path_)) << "and leaves the other's file alone";
}

TEST_F(socket_file, replaces_a_leftover) {
  // A socket that was bound and closed without being removed, as after a crash.
  const auto address = net::UnixAddress::of_file(path_);
  {
    const net::FileDescriptor crashed(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(crashed.get(), address->get(), address->size()), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_NO_THROW(SocketFile{path_});
}

TEST_F(socket_file, lets_very_many_wait_until_they_are_accepted) {
  std::size_t wanted = 0;
  std::ifstream("/proc/sys/net/core/somaxconn") >> wanted;
  wanted = std::min<std::size_t>(wanted, 500);
  const SocketFile file(path_);
  const auto address = net::UnixAddress::of_file(path_);
  std::vector<net::FileDescriptor> clients;
  std::size_t refused = 0;
  while (clients.size() < wanted) {
    clients.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int result = ::connect(clients.back().get(), address->get(), address->size());
    refused += result == 0 ? 0 : 1;
  }
  EXPECT_EQ(refused, 0U) << "of " << wanted;
}

TEST_F(socket_file, leaves_an_ordinary_file_alone) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(error_of(path_), HasSubstr("not a socket"));
  EXPECT_EQ(std::filesystem::file_size(path_), 8U);
}

TEST_F(socket_file, refuses_a_path_too_long_for_a_socket) {
  EXPECT_THAT(error_of(directory_ + "/" + std::string(120, 'x')), HasSubstr("1 to 107 bytes"));
}

} // namespace
} // namespace tributary::service
