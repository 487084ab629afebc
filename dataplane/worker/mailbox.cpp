#include "dataplane/worker/mailbox.hpp"

#include <exception>
#include <utility>

namespace tributary::worker {

void Mailbox::call(const std::function<void()>& task) {
  const std::lock_guard<std::mutex> one_at_a_time(callers_);
  std::unique_lock<std::mutex> lock(mutex_);
  if (!open_) {
    task();
    return;
  }
  task_ = &task;
  pending_.store(true, std::memory_order_relaxed);
  done_.wait(lock, [this] { return task_ == nullptr; });
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void Mailbox::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_ = true;
}

void Mailbox::run_pending() {
  const std::lock_guard<std::mutex> lock(mutex_);
  run_locked();
}

void Mailbox::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  run_locked();
  open_ = false;
}

void Mailbox::run_locked() {
  if (task_ == nullptr) {
    return;
  }
  pending_.store(false, std::memory_order_relaxed);
  try {
    (*task_)();
  } catch (...) {
    failure_ = std::current_exception();
  }
  task_ = nullptr;
  done_.notify_all();
}

} // namespace tributary::worker
