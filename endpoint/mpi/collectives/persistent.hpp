// Persistent operations: reductions that are initialised once and started many times. What the
// program holds is the MPI library's own request, initialised as the program asked. Where the
// operation goes through the network that request is never started, and the functions that wait and
// ask do not show it to the MPI library.
//
//   inactive -- start --> in the network --> done --+-- the program is notified --> inactive
//                              |                    |
//                              +--> left over ------+  the fabric has failed: the library starts it
//                                                      when the program waits
//
// The way of an operation is chosen when it is initialised, for all its starts. The ranks agree on
// which of several is next (persistent_queue.hpp).
#pragma once

#include "endpoint/mpi/collectives/arguments.hpp"
#include "endpoint/mpi/model/vocabulary.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <mpi.h>

namespace tributary::mpi::collectives {

// Like MPI_..._init: collective, returns MPI's code.
int persistent_reduction(const Reduction& call, MPI_Info info, MPI_Request* request);
int persistent_bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                     MPI_Info info, MPI_Request* request);
int persistent_barrier(MPI_Comm comm, MPI_Info info, MPI_Request* request);

class Persistent {
public:
  struct Operation;
  [[nodiscard]] static Persistent& of_process();

  void add(MPI_Request request, std::shared_ptr<Operation> operation);
  /// Whether requests exist that the MPI library cannot be asked about.
  [[nodiscard]] bool any_active() const { return active_.load(std::memory_order_acquire) > 0; }
  [[nodiscard]] bool any() const { return count_.load(std::memory_order_acquire) > 0; }

  // Like the functions of MPI, for any requests.
  int start(MPI_Request* request);
  int start_all(int count, MPI_Request requests[]);
  int free(MPI_Request* request);
  int test(MPI_Request* request, int* flag, MPI_Status* status);
  int test_all(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]);
  int test_any(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status);
  int test_some(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]);
  int status_of(MPI_Request request, int* flag, MPI_Status* status);

  /// Starts by the MPI library what the network has left over. Call it on a thread that may call
  /// MPI.
  void start_left_over();

private:
  class Asked;
  using Owned = std::shared_ptr<Operation>;
  /// Null: not one of ours.
  [[nodiscard]] Owned find(MPI_Request request);
  [[nodiscard]] Owned find_active(MPI_Request request);
  int start_by_library(Operation& operation, Reason reason);
  /// Notifies the program that it is done.
  void end(Operation& operation);

  std::mutex mutex_;
  std::map<std::uint64_t, Owned> all_; ///< by request
  std::atomic<int> count_{0};
  std::atomic<int> active_{0};
  std::atomic<int> left_over_{0};
};

} // namespace tributary::mpi::collectives
