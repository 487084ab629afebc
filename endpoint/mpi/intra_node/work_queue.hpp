// A thread that does what may take long and no caller waits for, in the order in which it was
// asked: leaving groups at the fabric manager. Begun with the first task.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tributary::mpi::intra_node {

class WorkQueue {
public:
  WorkQueue() = default;
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  ~WorkQueue() { close(); }

  /// `task` throws nothing.
  void add(std::function<void()> task);
  /// Waits until all tasks are done that were added before.
  void drain();
  /// Does what is left, and ends the thread.
  void close();

private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_; ///< the first one is in progress
  bool closing_ = false;
  std::thread thread_; ///< last: it uses all the others
};

} // namespace tributary::mpi::intra_node
