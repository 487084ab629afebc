#include "tools/tributaryctl/terminal.hpp"

#include "lib/terminal/descriptor.hpp"
#include "lib/terminal/wrap.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <ctime>

#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace tributary::cli {
namespace {

volatile std::sig_atomic_t signal_came = 0;

} // namespace

terminal::Display own_display() { return terminal::display_of(STDOUT_FILENO); }

std::string fitted(const std::string& view) {
  return terminal::wrapped(view, own_display().columns);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { signal_came = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return signal_came != 0; }

void sleep_until_interrupted(std::chrono::nanoseconds duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  timespec rest{static_cast<std::time_t>(seconds.count()),
                static_cast<long>((duration - seconds).count())};
  while (!interrupted() && ::nanosleep(&rest, &rest) != 0) {
  }
}

namespace {

/// While it exists, a terminal delivers every key without waiting for a line and echoes none; no
/// effect elsewhere.
class KeysAtOnce {
public:
  KeysAtOnce() {
    // A background process would be stopped for changing the terminal.
    if (terminal::is_terminal(STDIN_FILENO) && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() &&
        ::tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
    }
  }
  ~KeysAtOnce() {
    if (changed_) {
      ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
  }
  KeysAtOnce(const KeysAtOnce&) = delete;
  KeysAtOnce& operator=(const KeysAtOnce&) = delete;

  /// Waits up to `duration` for `q`; other keys end the wait, so that the screen is updated
  /// immediately.
  [[nodiscard]] bool quit_within(std::chrono::nanoseconds duration) const {
    if (!changed_) {
      sleep_until_interrupted(duration);
      return false;
    }
    pollfd keys{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&keys, 1, static_cast<int>(duration / std::chrono::milliseconds(1))) <= 0) {
      return false;
    }
    char key = 0;
    return ::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
  }

private:
  termios before_{};
  bool changed_ = false;
};

} // namespace

void stop_watching() { signal_came = 1; }

void watch(std::chrono::nanoseconds interval, bool clear,
           const std::function<std::string()>& show) {
  catch_interrupts();
  const bool in_place = clear && terminal::is_terminal(STDOUT_FILENO);
  const KeysAtOnce keys;
  for (bool quit = false; !interrupted() && !quit;) {
    fmt::print("{}{}", in_place ? "\033[H\033[2J" : "", show());
    std::fflush(stdout);
    quit = keys.quit_within(interval);
  }
}

} // namespace tributary::cli
