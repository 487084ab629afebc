#include "endpoint/mpi/intra_node/work_queue.hpp"

#include "endpoint/mpi/intra_node/quiet_thread.hpp"

#include <utility>

namespace tributary::mpi::intra_node {

void WorkQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  closing_ = false; // another task begins another thread
}

void WorkQueue::add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) {
      thread_ = quiet_thread([this] { work(); });
    }
  }
  changed_.notify_all();
}

void WorkQueue::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty(); });
}

void WorkQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return;
    }
    {
      const std::function<void()> task = std::move(tasks_.front());
      lock.unlock();
      task();
    } // what it holds ends without the lock, too
    lock.lock();
    tasks_.pop_front();
    changed_.notify_all();
  }
}

} // namespace tributary::mpi::intra_node
