#include "endpoint/launcher/node/keeper.hpp"

#include "endpoint/launcher/descendants/descendants.hpp"

#include <cerrno>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tributary::launch::node {

namespace {

/// Only the daemon holds the channel, so that its end is the channel's.
void let_go_of_the_channel() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
}

/// Signals that end a process by default and are sent to whole groups: by terminals, by Slurm at
/// the end of an allocation.
sigset_t ends_of_groups() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
    sigaddset(&set, number);
  }
  return set;
}

int wait_for(pid_t daemon) {
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == daemon) {
      return status;
    }
    if (ended < 0 && errno != EINTR) {
      return 0;
    }
  }
}

} // namespace

void keep() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t keeper = ::getpid();
  // A signal that ends the daemon must not end the keeper first. Blocked before the fork.
  const sigset_t ends = ends_of_groups();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &ends, &before);
  const pid_t daemon = ::fork();
  if (daemon <= 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    // The daemon; or, where fork fails, no rank can start, either.
    if (daemon == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != keeper) {
        ::_exit(1);
      }
    }
    return;
  }
  let_go_of_the_channel();
  const int status = wait_for(daemon);
  descendants::kill_descendants();
  if (WIFSIGNALED(status)) {
    ::signal(WTERMSIG(status), SIG_DFL);
    ::kill(keeper, WTERMSIG(status));
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

} // namespace tributary::launch::node
