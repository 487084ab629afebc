// A terminal without a user: a program's output to it can be read back.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tributary::test {

class PseudoTerminal {
public:
  PseudoTerminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    if (master_ && ::grantpt(master_.get()) == 0 && ::unlockpt(master_.get()) == 0) {
      terminal_ = net::FileDescriptor(::open(::ptsname(master_.get()), O_RDWR | O_NOCTTY));
    }
    if (!terminal_) {
      throw std::runtime_error("no pseudo-terminal to be had here");
    }
  }

  [[nodiscard]] int descriptor() const { return terminal_.get(); }

  void resize(unsigned short columns, unsigned short rows) const {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    ::ioctl(master_.get(), TIOCSWINSZ, &size);
  }
  /// The output since the last call.
  [[nodiscard]] std::string written() const {
    std::string all;
    char some[4096];
    ssize_t count = 0;
    while ((count = ::read(master_.get(), some, sizeof(some))) > 0) {
      all.append(some, static_cast<std::size_t>(count));
    }
    return all;
  }

private:
  net::FileDescriptor master_;
  net::FileDescriptor terminal_;
};

} // namespace tributary::test
