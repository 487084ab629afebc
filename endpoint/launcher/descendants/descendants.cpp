#include "endpoint/launcher/descendants/descendants.hpp"

#include "lib/net/steady_clock.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tributary::launch::descendants {

std::set<pid_t> children() {
  std::set<pid_t> all;
  DIR* const tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) {
    return all;
  }
  while (const dirent* const task = ::readdir(tasks)) {
    std::ifstream of_thread(std::string("/proc/self/task/") + task->d_name + "/children");
    for (pid_t child = 0; of_thread >> child;) {
      all.insert(child);
    }
  }
  ::closedir(tasks);
  return all;
}

void kill_descendants(const std::set<pid_t>& spared) {
  const TimeNs until = net::steady_now() + 2 * ns_per_second;
  while (net::steady_now() < until) {
    bool any = false;
    for (const pid_t child : children()) {
      if (!spared.contains(child)) {
        any = true;
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, WNOHANG);
      }
    }
    if (!any) {
      return;
    }
    ::usleep(1000);
  }
}

} // namespace tributary::launch::descendants
