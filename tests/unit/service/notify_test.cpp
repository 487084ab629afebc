#include "service/notify.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tributary::service {
namespace {

/// A service manager's end: a bound datagram socket, and NOTIFY_SOCKET pointing to it.
class Manager {
public:
  /// A name beginning with '@' is in the abstract namespace.
  explicit Manager(const std::string& name) : descriptor_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') {
      address.sun_path[0] = '\0';
    } else {
      ::unlink(name.c_str());
      file_ = name;
    }
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size), 0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Manager() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(descriptor_);
    if (!file_.empty()) {
      ::unlink(file_.c_str());
    }
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  [[nodiscard]] std::string received() const {
    char buffer[256];
    const ssize_t n = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
    return {buffer, n > 0 ? static_cast<std::size_t>(n) : 0};
  }

private:
  int descriptor_;
  std::string file_;
};

TEST(notify_service_manager, sends_one_datagram_to_a_socket_file) {
  const Manager manager(testing::TempDir() + "notify-" + std::to_string(::getpid()));
  EXPECT_TRUE(notify_service_manager("READY=1"));
  EXPECT_EQ(manager.received(), "READY=1");
}

TEST(notify_service_manager, knows_the_abstract_namespace) {
  const Manager manager("@tributary-notify-" + std::to_string(::getpid()));
  EXPECT_TRUE(notify_service_manager("STOPPING=1"));
  EXPECT_EQ(manager.received(), "STOPPING=1");
}

TEST(notify_service_manager, without_a_manager_there_is_nothing_to_do) {
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(notify_service_manager("READY=1"));
}

TEST(notify_service_manager, a_socket_that_is_not_there_is_reported) {
  ::setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
  EXPECT_FALSE(notify_service_manager("READY=1"));
  ::setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_FALSE(notify_service_manager("READY=1"));
  ::unsetenv("NOTIFY_SOCKET");
}

} // namespace
} // namespace tributary::service
