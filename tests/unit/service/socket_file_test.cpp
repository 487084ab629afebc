#include "service/socket_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace tributary::service {
namespace {

using testing::HasSubstr;

class socket_file : public testing::Test {
protected:
  socket_file() {
    std::string pattern = testing::TempDir() + "tributary-socket-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    path_ = directory_ + "/switch.sock";
  }
  ~socket_file() override { std::filesystem::remove_all(directory_); }

  static std::string error_of(const std::string& path) {
    try {
      const SocketFile file(path);
    } catch (const SocketError& e) {
      return e.what();
    }
    ADD_FAILURE() << "accepted: " << path;
    return {};
  }

  std::string directory_;
  std::string path_;
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

TEST_F(socket_file, refuses_where_somebody_listens) {
  const SocketFile first(path_);
  EXPECT_THAT(error_of(path_), HasSubstr("a running process answers on it"));
  EXPECT_TRUE(std::filesystem::exists(path_)) << "and leaves the other's file alone";
}

TEST_F(socket_file, replaces_a_leftover) {
  // A socket that was bound and closed without being removed, as after a crash.
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(descriptor);
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_NO_THROW(SocketFile{path_});
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
