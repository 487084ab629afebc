#include "endpoint/launcher/node/rank_process.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tributary::launch::node {

namespace {

struct Pipe {
  net::FileDescriptor to_read;
  net::FileDescriptor to_write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw StartError(fmt::format("pipe: {}", std::strerror(errno)));
  }
  return {net::FileDescriptor(ends[0]), net::FileDescriptor(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view value_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& variable : environment) {
    if (variable.starts_with(name) && variable.size() > name.size() &&
        variable[name.size()] == '=') {
      return std::string_view(variable).substr(name.size() + 1);
    }
  }
  return {};
}

/// The paths that execvp would try, in the order of a shell.
std::vector<std::string> candidates(const std::string& program, std::string_view path) {
  if (program.find('/') != std::string::npos) {
    return {program};
  }
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string_view folder = path.substr(begin, end - begin);
    all.push_back(fmt::format("{}/{}", folder.empty() ? "." : folder, program));
    begin = end + 1;
  }
  return all;
}

/// What went wrong between fork and exec, sent through a pipe that a successful exec closes.
struct Failure {
  int error = 0;
  bool directory = false; ///< chdir failed; otherwise exec
};

} // namespace

StartingRank::StartingRank(const RankStart& start)
    : program_(start.command.front()), directory_(start.directory) {
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  Pipe status = make_pipe();
  std::array<int, 2> pmi{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pmi.data()) != 0) {
    throw StartError(fmt::format("socketpair: {}", std::strerror(errno)));
  }
  net::FileDescriptor pmi_here(pmi[0]);
  net::FileDescriptor pmi_there(pmi[1]);

  // Everything that allocates is done before the fork: another thread may hold the allocator's
  // lock.
  constexpr int pmi_fd = 3;
  std::vector<std::string> environment = start.environment;
  environment.push_back(fmt::format("PMI_FD={}", pmi_fd));
  const std::vector<char*> variables = pointers_to(environment);
  const std::vector<char*> arguments = pointers_to(start.command);
  const std::vector<std::string> programs =
      candidates(start.command.front(), value_of(environment, "PATH"));
  const net::FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int standard_input = start.input ? input.to_read.get() : nothing.get();
  const pid_t daemon = ::getpid();
  sigset_t none;
  sigemptyset(&none);

  const pid_t pid = ::fork();
  if (pid < 0) {
    throw StartError(fmt::format("fork: {}", std::strerror(errno)));
  }
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != daemon) {
      ::_exit(127); // the daemon died meanwhile, so no signal was sent
    }
    ::setpgid(0, 0);
    for (int signal = 1; signal < NSIG; ++signal) {
      ::signal(signal, SIG_DFL);
    }
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    Failure failure;
    // The status pipe survives above the descriptors that are given away.
    const int report = ::fcntl(status.to_write.get(), F_DUPFD_CLOEXEC, 64);
    const int own = ::fcntl(pmi_there.get(), F_DUPFD_CLOEXEC, 64);
    const int in = ::fcntl(standard_input, F_DUPFD_CLOEXEC, 64);
    const int out = ::fcntl(output.to_write.get(), F_DUPFD_CLOEXEC, 64);
    const int err = ::fcntl(errors.to_write.get(), F_DUPFD_CLOEXEC, 64);
    if (report < 0 || own < 0 || in < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 ||
        ::dup2(err, 2) < 0 || ::dup2(own, pmi_fd) < 0) {
      failure.error = errno;
    } else if (::chdir(start.directory.c_str()) != 0) {
      failure = {errno, true};
    } else {
      failure.error = ENOENT;
      for (const std::string& program : programs) {
        ::execve(program.c_str(), arguments.data(), variables.data());
        if (errno != ENOENT && errno != ENOTDIR) {
          failure.error = errno;
        }
      }
    }
    const auto ignored = ::write(report, &failure, sizeof(failure));
    (void)ignored;
    ::_exit(127);
  }
  ::setpgid(pid, pid); // parent and child both call it; the first one wins
  for (const int end :
       {output.to_read.get(), errors.to_read.get(), input.to_write.get(), pmi_here.get()}) {
    ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
  status_ = std::move(status.to_read);
  process_ = {pid, start.input ? std::move(input.to_write) : net::FileDescriptor(),
              std::move(output.to_read), std::move(errors.to_read), std::move(pmi_here)};
}

RankProcess StartingRank::wait() {
  Failure failure;
  ssize_t size = 0;
  do {
    size = ::read(status_.get(), &failure, sizeof(failure));
  } while (size < 0 && errno == EINTR);
  if (size == sizeof(failure)) {
    ::waitpid(process_.pid, nullptr, 0);
    throw StartError(fmt::format("{}: {}", failure.directory ? directory_ : program_,
                                 std::strerror(failure.error)));
  }
  return std::move(process_);
}

} // namespace tributary::launch::node
