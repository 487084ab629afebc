#include "tools/tributaryctl/host/held_job.hpp"

#include "endpoint/host_client/host_client.hpp"
#include "lib/net/file_descriptor.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tributary::cli {
namespace {

using host_client::HostClient;

constexpr int exit_not_started = 127;
constexpr int exit_by_signal = 128;
constexpr std::chrono::milliseconds declare_again_interval{1'000};
/// A signal waits for as long as an agent that is stopped does not answer.
constexpr std::chrono::milliseconds declare_again_limit{2'000};

/// Signals that end this process or its command: blocked, and read one by one.
class Signals {
public:
  Signals() {
    ::sigemptyset(&blocked_);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
      ::sigaddset(&blocked_, number);
    }
    ::sigprocmask(SIG_BLOCK, &blocked_, &before_);
    descriptor_ = net::FileDescriptor(::signalfd(-1, &blocked_, SFD_CLOEXEC));
    if (descriptor_.get() < 0) {
      throw std::system_error(errno, std::generic_category(), "signalfd");
    }
  }

  [[nodiscard]] int fd() const { return descriptor_.get(); }
  [[nodiscard]] const sigset_t& before() const { return before_; }

  [[nodiscard]] signalfd_siginfo next() const {
    signalfd_siginfo signal{};
    const bool is_whole =
        ::read(descriptor_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal);
    return is_whole ? signal : signalfd_siginfo{};
  }

private:
  sigset_t blocked_{};
  sigset_t before_{};
  net::FileDescriptor descriptor_;
};

/// Returns the process, or an error number below zero.
pid_t started(const std::vector<std::string>& words, const sigset_t& signals) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str())); // posix_spawnp changes nothing
  }
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  return error == 0 ? child : -error;
}

/// Also processes that the command has left: in a container this may be the first process.
std::optional<int> exit_code_of(pid_t command) {
  int status = 0;
  for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == command) {
      return WIFSIGNALED(status) ? exit_by_signal + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
  return std::nullopt;
}

/// The connection that the job is attached to.
class Holder {
public:
  Holder(std::string socket, std::string request)
      : socket_(std::move(socket)), request_(std::move(request)), agent_(std::in_place, socket_) {
    agent_->ask(request_);
  }

  [[nodiscard]] int fd() const { return agent_ ? agent_->fd() : -1; }
  void lost() { agent_.reset(); }

  void declare_again() {
    try {
      agent_.emplace(socket_, declare_again_limit);
      agent_->ask(request_);
      said_ = false;
    } catch (const std::exception& error) {
      agent_.reset();
      if (!std::exchange(said_, true)) {
        fmt::print(stderr, "tributaryctl: {}\n", error.what());
      }
    }
  }

private:
  std::string socket_;
  std::string request_;
  std::optional<HostClient> agent_;
  bool said_ = false;
};

} // namespace

int run_with_job(const std::string& agent_socket, const std::string& request,
                 const std::vector<std::string>& words) {
  Holder holder(agent_socket, request);
  const Signals signals;
  const pid_t command = started(words, signals.before());
  if (command < 0) {
    fmt::print(stderr, "tributaryctl: {} cannot be started: {}\n", words[0],
               std::strerror(-command));
    return exit_not_started;
  }
  for (;;) {
    std::array<pollfd, 2> waited{{{.fd = signals.fd(), .events = POLLIN, .revents = 0},
                                  {.fd = holder.fd(), .events = POLLIN, .revents = 0}}};
    const int limit = holder.fd() < 0 ? static_cast<int>(declare_again_interval.count()) : -1;
    if (::poll(waited.data(), waited.size(), limit) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    if (waited[0].revents != 0) {
      const signalfd_siginfo signal = signals.next();
      if (signal.ssi_signo == SIGCHLD) {
        if (const auto code = exit_code_of(command)) {
          return *code;
        }
      } else if (signal.ssi_code <= 0) { // what a terminal sends, the command gets itself
        ::kill(command, static_cast<int>(signal.ssi_signo));
      }
    }
    if (waited[1].revents != 0) {
      holder.lost(); // the agent says nothing unasked: it has ended
    } else if (holder.fd() < 0) {
      holder.declare_again();
    }
  }
}

} // namespace tributary::cli
