// How the control thread has something done by a worker, between two bursts, while it waits.
// Costs the worker one relaxed load per iteration when nothing is asked.
//
// Before the worker opens it and after the worker closed it, a call runs on the calling thread:
// then nobody else touches the worker's state.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>

namespace tributary::worker {

class Mailbox {
public:
  /// Any thread but the worker. Returns when `task` has run; an exception it throws arrives here.
  void call(const std::function<void()>& task);

  // Only the worker.

  void open();
  /// Runs what was asked for.
  void poll() {
    if (pending_.load(std::memory_order_relaxed)) {
      run_pending();
    }
  }
  /// Runs what was asked for last; from now on callers run their tasks themselves.
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
