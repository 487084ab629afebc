// Where the persistent operations of one communicator are made. MPI lets every rank start them in
// an order of its own (MPI 4.0, 6.13), also against other calls of the communicator. So they have a
// group of their own, on a private communicator of the same ranks, and agree there on the next
// operation:
//
//   round    each rank that has started something gives the set of what it has; their intersection
//            is the same at all ranks, and its operations are made, in the order of numbers
//   empty    the intersection: another round, a little later
//
// A round is one reduction of 64 bits in the network. So there are at most 64 operations at a time.
#pragma once

#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/intra_node/team.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <mpi.h>

namespace tributary::mpi::collectives {

class Runtime;

class PersistentQueue {
public:
  /// Collective over `comm`; `name`: its name.
  PersistentQueue(Runtime& runtime, MPI_Comm comm, const std::string& name);
  PersistentQueue(const PersistentQueue&) = delete;
  PersistentQueue& operator=(const PersistentQueue&) = delete;
  ~PersistentQueue();

  /// Why no calls go through it; `none`: they do.
  [[nodiscard]] Reason reason() const { return communicator_->reason(); }
  [[nodiscard]] const Communicator& communicator() const { return *communicator_; }

  /// Collective: a number for a new operation; nullopt: all are taken.
  [[nodiscard]] std::optional<unsigned> take_number();
  /// Returns the number of an operation that is freed, at this rank.
  void give_back(unsigned number);

  /// `done` is called on the queue's thread: true when it was made, false when it is left to the
  /// MPI library, for the fabric has failed. Returns false, and calls nothing, if it has already
  /// failed.
  [[nodiscard]] bool start(unsigned number, const intra_node::Call& call,
                           std::function<void(bool)> done);

  /// Waits until all started operations are done.
  void drain();
  /// Gives its team back; nothing can be started any more. `freed`: collective.
  void close(Communicator::End end);

private:
  struct Started {
    intra_node::Call call;
    std::function<void(bool)> done;
  };
  void work();
  /// Makes a call that every rank makes at this point; false: the fabric has failed.
  [[nodiscard]] bool run(const intra_node::Call& call);
  /// Completes the operations of `numbers`.
  void answer(std::uint64_t numbers, bool made);

  MPI_Comm comm_ = MPI_COMM_NULL;
  Communicator* communicator_;
  std::uint64_t free_ = ~std::uint64_t{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t started_ = 0;
  std::array<Started, 64> what_;
  bool failed_ = false;
  bool stopping_ = false;
  std::thread thread_; ///< last: it uses all the others
};

} // namespace tributary::mpi::collectives
