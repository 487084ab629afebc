#include "lib/service/notify.hpp"

#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

namespace tributary::service {
namespace {

/// A service manager's end: a bound datagram socket, and NOTIFY_SOCKET pointing to it.
class Manager {
public:
  /// A name beginning with '@' is in the abstract namespace.
  explicit Manager(const std::string& name) : descriptor_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    auto address = net::UnixAddress::abstract(name.substr(1));
    if (name.front() != '@') {
      ::unlink(name.c_str());
      file_ = name;
      address = net::UnixAddress::of_file(name);
    }
    EXPECT_EQ(::bind(descriptor_.get(), address->get(), address->size()), 0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Manager() {
    ::unsetenv("NOTIFY_SOCKET");
    if (!file_.empty()) {
      ::unlink(file_.c_str());
    }
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  [[nodiscard]] std::string received() const {
    char buffer[256];
    const ssize_t n = ::recv(descriptor_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    return {buffer, n > 0 ? static_cast<std::size_t>(n) : 0};
  }

private:
  net::FileDescriptor descriptor_;
  std::string file_;
};

TEST(notify_service_manager, sends_one_datagram_to_a_socket_file) {
  const tributary::test::ScratchDirectory scratch;
  const Manager manager(scratch.file("notify"));
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
