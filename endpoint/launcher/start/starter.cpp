#include "endpoint/launcher/start/starter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tributary::launch::start {

namespace {

struct Problem {
  const char* doing = nullptr; ///< null: none
  int error = 0;
};

struct How {
  std::vector<std::string> command; ///< looked up in PATH
  bool channel = true;              ///< its standard input is one end of a socket pair
  bool output = false;              ///< the same for its standard output
  std::string variable;             ///< NAME=VALUE added to its environment
  /// Called in the child before the program; only system calls.
  std::function<Problem()> prepare;
};

/// The child's report when it cannot become the program.
struct Report {
  std::array<char, 64> doing{};
  int error = 0;
};

StartedProcess start(const How& how) {
  std::array<int, 2> ends{-1, -1};
  std::array<int, 2> status{};
  if ((how.channel && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) ||
      ::pipe2(status.data(), O_CLOEXEC) != 0) {
    throw StartFailed(fmt::format("no node daemon can be started: {}", std::strerror(errno)));
  }
  net::FileDescriptor here(ends[0]);
  net::FileDescriptor there(ends[1]);
  net::FileDescriptor status_here(status[0]);
  net::FileDescriptor status_there(status[1]);
  std::vector<char*> arguments;
  for (const std::string& word : how.command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    environment.push_back(*each);
  }
  if (!how.variable.empty()) {
    environment.push_back(const_cast<char*>(how.variable.c_str()));
  }
  environment.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  const pid_t pid = ::fork();
  if (pid < 0) {
    throw StartFailed(fmt::format("no node daemon can be started: fork: {}", std::strerror(errno)));
  }
  if (pid == 0) {
    ::setpgid(0, 0);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2}) {
      ::signal(number, SIG_DFL);
    }
    Problem problem = how.prepare ? how.prepare() : Problem();
    if (problem.doing == nullptr) {
      const int input = how.channel ? there.get() : ::open("/dev/null", O_RDONLY);
      if (::dup2(input, 0) < 0 || (how.output && ::dup2(input, 1) < 0)) {
        problem = {"descriptors", errno};
      } else {
        ::execvpe(arguments.front(), arguments.data(), environment.data());
        problem = {arguments.front(), errno};
      }
    }
    Report report;
    std::strncpy(report.doing.data(), problem.doing, report.doing.size() - 1);
    report.error = problem.error;
    const auto ignored = ::write(status_there.get(), &report, sizeof(report));
    (void)ignored;
    ::_exit(127);
  }
  ::setpgid(pid, pid);
  status_there.close();
  there.close();
  Report report;
  ssize_t size = 0;
  do {
    size = ::read(status_here.get(), &report, sizeof(report));
  } while (size < 0 && errno == EINTR);
  if (size == sizeof(report)) {
    ::waitpid(pid, nullptr, 0);
    throw StartFailed(fmt::format("{}: {}", report.doing.data(), std::strerror(report.error)));
  }
  return {pid, std::move(here)};
}

Problem failed(const char* doing) { return {doing, errno}; }

} // namespace

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string("tributary-run") : path.string();
}

StartedProcess start_here(const std::string& name) {
  How how;
  how.command = {own_program(), "daemon", "--name", name};
  return start(how);
}

StartedProcess start_in_namespace(const std::string& name) {
  const std::string path = fmt::format("/run/netns/{}", name);
  const net::FileDescriptor space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) {
    throw StartFailed(
        errno == ENOENT
            ? fmt::format("no network namespace {} ({}); ip netns add {}, or --hostfile for "
                          "other machines",
                          name, path, name)
            : fmt::format("{}: {}", path, std::strerror(errno)));
  }
  How how;
  how.command = {own_program(), "daemon", "--name", name};
  how.prepare = [&]() -> Problem {
    if (::setns(space.get(), CLONE_NEWNET) != 0) {
      return failed("entering the network namespace (it needs root)");
    }
    if (::unshare(CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWIPC) != 0) {
      return failed("unshare");
    }
    if (::sethostname(name.c_str(), std::min<std::size_t>(name.size(), 64)) != 0) {
      return failed("sethostname");
    }
    if (::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tributary-run", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
      return failed("mounting /dev/shm");
    }
    // /sys shows the interfaces of the namespace that mounted it. If this fails programs see the
    // wrong ones there, and nothing worse.
    if (::umount2("/sys", MNT_DETACH) == 0) {
      ::mount(name.c_str(), "/sys", "sysfs", 0, nullptr);
    }
    return {};
  };
  return start(how);
}

StartedProcess start_through_ssh(const std::vector<std::string>& command, const std::string& host,
                                 const std::string& program) {
  How how;
  how.command = command;
  how.command.insert(how.command.end(),
                     {"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
                      "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3", host, "--", program,
                      "daemon", "--name", host});
  how.output = true;
  return start(how);
}

StartedProcess start_through_srun(const std::vector<std::string>& nodes, const std::string& program,
                                  const std::string& address, const std::string& secret) {
  How how;
  how.channel = false;
  how.variable = fmt::format("TRIBUTARY_RUN_SECRET={}", secret);
  how.command = {"srun",
                 "--overlap",
                 "--mpi=none",
                 "--kill-on-bad-exit=0",
                 "--ntasks-per-node=1",
                 fmt::format("--nodes={}", nodes.size()),
                 fmt::format("--ntasks={}", nodes.size()),
                 fmt::format("--nodelist={}", fmt::join(nodes, ",")),
                 program,
                 "daemon",
                 "--dial",
                 address};
  return start(how);
}

} // namespace tributary::launch::start
