// A switch made of one thread and a socket, for tests of clients of switches.
#pragma once

#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace tributary::service::test {

/// A line without its end; empty without one.
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
      : listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    const auto address = net::UnixAddress::of_file(path_);
    EXPECT_EQ(::bind(listener_.get(), address->get(), address->size()), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, behave = std::move(behave)] {
      const net::FileDescriptor client(::accept(listener_.get(), nullptr, nullptr));
      behave(client.get(), read_line(client.get()));
    });
  }
  ~OneShotSwitch() {
    thread_.join();
    ::unlink(path_.c_str());
  }
  OneShotSwitch(const OneShotSwitch&) = delete;
  OneShotSwitch& operator=(const OneShotSwitch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  tributary::test::ScratchDirectory scratch_;
  std::string path_ = scratch_.file("switch.sock");
  net::FileDescriptor listener_;
  std::thread thread_;
};

} // namespace tributary::service::test
