// A thread of one communicator that makes its non-blocking calls, one after the other. It calls no
// function of MPI, so that it works with every thread level. Begun with the first such call.
#pragma once

#include "endpoint/mpi/intra_node/team.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tributary::mpi::collectives {

class Worker {
public:
  explicit Worker(intra_node::Team& team);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Requires drain().
  ~Worker();

  void add(const intra_node::Call& call, std::function<void()> done);
  /// Waits until all are done. `idle` is called meanwhile, once in a millisecond.
  void drain(const node::Idle& idle);

private:
  struct Job {
    intra_node::Call call;
    std::function<void()> done;
  };
  void work();

  intra_node::Team& team_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_; ///< the first one is in progress
  bool stopping_ = false;
  std::thread thread_; ///< last: it uses all the others
};

} // namespace tributary::mpi::collectives
