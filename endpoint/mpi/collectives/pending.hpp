// Non-blocking calls that are not done: the program holds a generalized request of MPI. The MPI
// library can be notified of completion only on a thread that may call MPI, so this is done when
// the program waits or tests (`notify`), and the waiting is done here: a wait of the library itself
// would never end.
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
    MPI_Request inner = MPI_REQUEST_NULL; ///< request of the MPI library, when that does the work
    std::function<void()> finish;         ///< called before the program is notified; may be empty
    std::atomic<bool> done{false};
  };

  /// Adds a call, and makes the request for the program.
  std::shared_ptr<One> add(MPI_Request* request);
  /// Marks its work as done; any thread.
  void done(One& one);

  [[nodiscard]] bool any() const { return count_.load(std::memory_order_acquire) > 0; }
  /// Notifies the MPI library which are done. Call it on a thread that may call MPI.
  void notify();
  /// Wakes a waiting thread to look again; any thread.
  void wake();
  /// Waits until a call is done, or for some microseconds.
  void wait_a_little();
  /// Whether the request is one of ours that MPI does not yet know to be done.
  [[nodiscard]] bool holds(MPI_Request request);

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<One>> all_;
  std::atomic<int> count_{0};
  bool woken_ = false;
};

} // namespace tributary::mpi::collectives
