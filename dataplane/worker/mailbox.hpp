// Lets the control thread run a task on a worker, between two bursts, and wait for it. Costs the
// worker one relaxed load per iteration while there is no task.
//
// Before the worker opens it and after the worker closed it, a call runs on the calling thread: no
// other thread accesses the worker's state then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>

namespace tributary::worker {

class Mailbox {
public:
  /// By any thread but the worker. Returns when `task` has run; an exception it throws arrives
  /// here.
  void call(const std::function<void()>& task);

  // By the worker only.

  void open();
  /// Runs the requested task.
  void poll() {
    if (pending_.load(std::memory_order_relaxed)) {
      run_pending();
    }
  }
  /// Runs the last requested task; from now on callers run their tasks themselves.
  void close();

private:
  void run_pending();
  void run_locked();

  std::mutex callers_; ///< one call at a time
  std::mutex mutex_;
  std::condition_variable done_;
  std::atomic<bool> pending_{false};
  bool open_ = false;
  const std::function<void()>* task_ = nullptr;
  std::exception_ptr failure_;
};

} // namespace tributary::worker
