#include "endpoint/hostd/nft.hpp"

#include "lib/net/file_descriptor.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tributary::hostd {

namespace {

using Clock = std::chrono::steady_clock;

/// A file in memory: nft reads it whole, and neither side waits for the other.
net::FileDescriptor file_with(const std::string& text) {
  net::FileDescriptor file(::memfd_create("nft", MFD_CLOEXEC));
  std::size_t written = 0;
  while (file && written < text.size()) {
    const ssize_t n = ::write(file.get(), text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) {
      file = {};
    } else if (n > 0) {
      written += static_cast<std::size_t>(n);
    }
  }
  if (!file || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    throw NftError(fmt::format("no memory for the rules ({})", std::strerror(errno)));
  }
  return file;
}

struct Pipe {
  net::FileDescriptor reader;
  net::FileDescriptor writer;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw NftError(fmt::format("no pipe to nft ({})", std::strerror(errno)));
    }
    reader = net::FileDescriptor(ends[0]);
    writer = net::FileDescriptor(ends[1]);
  }
};

/// Reads both to their ends; false after the deadline.
bool drain(Pipe& output, std::string& out, Pipe& errors, std::string& err,
           Clock::time_point deadline) {
  std::array<std::pair<Pipe*, std::string*>, 2> all{{{&output, &out}, {&errors, &err}}};
  while (all[0].first->reader || all[1].first->reader) {
    std::array<pollfd, 2> waiting{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      waiting[i] = {all[i].first->reader.get(), POLLIN, 0}; // negative ones are ignored
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return false;
    }
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left)) <= 0) {
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (waiting[i].revents == 0) {
        continue;
      }
      std::array<char, 16'384> buffer{};
      const ssize_t n = ::read(all[i].first->reader.get(), buffer.data(), buffer.size());
      if (n > 0) {
        all[i].second->append(buffer.data(), static_cast<std::size_t>(n));
      } else if (n == 0 || errno != EINTR) {
        all[i].first->reader = {};
      }
    }
  }
  return true;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

} // namespace

Nft::Outcome Nft::run(const std::vector<std::string>& arguments, const std::string& input) const {
  const net::FileDescriptor file = file_with(input);
  Pipe output;
  Pipe errors;
  std::vector<std::string> words = {program_};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, file.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.writer.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.writer.get(), STDERR_FILENO);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, program_.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw NftError(fmt::format("cannot run {} ({}); install the package nftables, or name the "
                               "program in `agent.nft`",
                               program_, std::strerror(error)));
  }
  output.writer = {};
  errors.writer = {};
  Outcome outcome;
  const bool done = drain(output, outcome.output, errors, outcome.errors, Clock::now() + limit);
  if (!done) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!done) {
    throw NftError(fmt::format("{} does not end within {} s; the rules may not be in force",
                               program_, limit.count()));
  }
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

void Nft::apply(const std::string& text) const {
  const Outcome outcome = run({"-f", "-"}, text);
  if (outcome.exit_code != 0) {
    throw NftError(
        fmt::format("nft refuses the rules of the guard: {}; it needs CAP_NET_ADMIN, and "
                    "a kernel with nf_tables and its netdev egress hook (Linux 5.16)",
                    first_line(outcome.errors)));
  }
}

std::optional<std::string> Nft::list_table(const std::string& table) const {
  Outcome outcome = run({"--json", "list", "table", "netdev", table}, {});
  if (outcome.exit_code == 0) {
    return std::move(outcome.output);
  }
  if (outcome.errors.find("No such file or directory") != std::string::npos) {
    return std::nullopt;
  }
  throw NftError(fmt::format("nft cannot list the rules of the guard: {}; it needs CAP_NET_ADMIN",
                             first_line(outcome.errors)));
}

} // namespace tributary::hostd
