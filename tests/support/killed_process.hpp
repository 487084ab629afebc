// Another process of the test, which is killed.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tributary::test {

/// A process that has done `work` and waits until it is killed. Make it before any thread.
class KilledProcess {
public:
  explicit KilledProcess(const std::function<void()>& work) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      work();
      static_cast<void>(!write(ends[1], "", 1));
      for (;;) {
        pause();
      }
    }
    close(ends[1]);
    char done = 0;
    EXPECT_EQ(read(ends[0], &done, 1), 1) << "the other process has failed";
    close(ends[0]);
  }
  KilledProcess(const KilledProcess&) = delete;
  KilledProcess& operator=(const KilledProcess&) = delete;
  ~KilledProcess() { end(); }
  void end() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
      process_ = 0;
    }
  }

private:
  pid_t process_ = 0;
};

} // namespace tributary::test
