// Non-blocking calls that are not done: what the program holds of them is a generalized request of
// MPI. The MPI library takes the news that one is done only on a thread that may call MPI, so that
// is said when the program waits or tests (`tell`), and the waiting is done here: a library that
// waits by itself would wait for ever.
#pragma once

#include "endpoint/mpi/model/vocabulary.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include <mpi.h>

namespace tributary::mpi::collectives {

class Pending {
public:
  [[nodiscard]] static Pending& of_process();

  struct One {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request inner = MPI_REQUEST_NULL; ///< of the MPI library, when that does the work
    std::function<void()> finish;         ///< before the program hears of it; may be empty
    std::atomic<bool> done{false};
  };

  /// A new one, and the request for the program.
  std::shared_ptr<One> add(MPI_Request* request);
  /// Its work is done; by any thread.
  void done(One& one);

  [[nodiscard]] bool any() const { return count_.load(std::memory_order_acquire) > 0; }
  /// Tells the MPI library which are done. By a thread that may call MPI.
  void tell();
  /// Whoever waits a little looks again; by any thread.
  void wake();
  /// Until something is done, or for some microseconds.
  void wait_a_little();
  /// Whether the request is one of ours that MPI does not know to be done.
  [[nodiscard]] bool holds(MPI_Request request);

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<One>> all_;
  std::atomic<int> count_{0};
  bool woken_ = false;
};

} // namespace tributary::mpi::collectives
