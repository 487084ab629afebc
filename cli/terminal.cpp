#include "cli/terminal.hpp"

#include "terminal/descriptor.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <ctime>

#include <unistd.h>

namespace tributary::cli {
namespace {

volatile std::sig_atomic_t signal_came = 0;

} // namespace

bool wants_colours() { return terminal::wants_colours(STDOUT_FILENO); }

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { signal_came = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return signal_came != 0; }

void sleep_until_interrupted(double seconds) {
  timespec rest{
      static_cast<std::time_t>(seconds),
      static_cast<long>((seconds - static_cast<double>(static_cast<std::time_t>(seconds))) * 1e9)};
  while (!interrupted() && ::nanosleep(&rest, &rest) != 0) {
  }
}

void watch(double seconds, bool clear, const std::function<std::string()>& show) {
  catch_interrupts();
  const bool in_place = clear && terminal::is_terminal(STDOUT_FILENO);
  while (!interrupted()) {
    fmt::print("{}{}", in_place ? "\033[H\033[2J" : "", show());
    std::fflush(stdout);
    sleep_until_interrupted(seconds);
  }
}

} // namespace tributary::cli
