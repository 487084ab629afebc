// A switch made of one thread and a socket, for tests of those who ask switches.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tributary::service::test {

/// Without its end; empty when there is none.
inline std::string read_line(int descriptor) {
  std::string line;
  char c = 0;
  while (::recv(descriptor, &c, 1, 0) == 1 && c != '\n') {
    line += c;
  }
  return line;
}

/// Accepts one connection, reads one line, and lets `behave` do the rest.
class OneShotSwitch {
public:
  explicit OneShotSwitch(std::function<void(int, const std::string&)> behave)
      : path_(testing::TempDir() + "one-shot-switch-" + std::to_string(::getpid()) + ".sock"),
        listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    ::unlink(path_.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    thread_ = std::thread([this, behave = std::move(behave)] {
      const int client = ::accept(listener_, nullptr, nullptr);
      behave(client, read_line(client));
      ::close(client);
    });
  }
  ~OneShotSwitch() {
    thread_.join();
    ::close(listener_);
    ::unlink(path_.c_str());
  }
  OneShotSwitch(const OneShotSwitch&) = delete;
  OneShotSwitch& operator=(const OneShotSwitch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
  int listener_;
  std::thread thread_;
};

} // namespace tributary::service::test
