#include "endpoint/mpi/collectives/worker.hpp"

#include "endpoint/mpi/intra_node/quiet_thread.hpp"

#include <chrono>
#include <utility>

namespace tributary::mpi::collectives {

Worker::Worker(intra_node::Team& team)
    : team_(team), thread_(intra_node::quiet_thread([this] { work(); })) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::add(const intra_node::Call& call, std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({call, std::move(done)});
  }
  changed_.notify_all();
}

void Worker::drain(const node::Idle& idle) {
  constexpr std::chrono::milliseconds while_idle{1};
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, while_idle, [this] { return jobs_.empty(); })) {
    lock.unlock();
    idle();
    lock.lock();
  }
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) {
      return;
    }
    const Job& job = jobs_.front(); // only this thread takes from the front
    lock.unlock();
    team_.run(job.call, [] {}); // the program's thread calls MPI when it waits
    job.done();
    lock.lock();
    jobs_.pop_front();
    changed_.notify_all();
  }
}

} // namespace tributary::mpi::collectives
