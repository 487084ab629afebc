// A terminal without a person: what a program writes to it can be read back.
#pragma once

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
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0 ||
        (terminal_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY)) < 0) {
      throw std::runtime_error("no pseudo-terminal to be had here");
    }
  }
  ~PseudoTerminal() {
    ::close(terminal_);
    ::close(master_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  [[nodiscard]] int descriptor() const { return terminal_; }

  void resize(unsigned short columns, unsigned short rows) const {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    ::ioctl(master_, TIOCSWINSZ, &size);
  }
  /// What came since the last call.
  [[nodiscard]] std::string written() const {
    std::string all;
    char some[4096];
    ssize_t count = 0;
    while ((count = ::read(master_, some, sizeof(some))) > 0) {
      all.append(some, static_cast<std::size_t>(count));
    }
    return all;
  }

private:
  int master_ = -1;
  int terminal_ = -1;
};

} // namespace tributary::test
