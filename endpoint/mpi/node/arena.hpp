// The shared memory of the ranks of one communicator on one node, with a place for each rank's part
// of a step, and two for results.
//
//   +--------+-------+-------+---+-----------------+-----------------+
//   | header | seats, a line each | result, even    | result, odd     |
//   |        |                    | steps           | steps           |
//   +--------+-------+-------+---+-----------------+-----------------+
//   | part of rank 0 | part of rank 1 | ...                           |
//   +----------------+----------------+-------------------------------+
//
// A step, at every rank: write the part, `arrived`; at the leader (rank 0 of the node) when all
// have arrived: combine, through the fabric, write the result, `finished`; at every rank: read the
// result. A rank arrives for step k + 1 when it has read the result of k, so a result that the
// leader writes for k + 1 overwrites nothing that is still read; the result of k is kept, for the
// other nodes may lack it (model/agreement.hpp).
//
// Beginning a call: `enter`. The leader's watch thread closes the gate with `freeze`, and opens it
// with the decision: up to which call the communicator still works here. A rank writes the number
// of its call before it looks at the gate, and the thread closes the gate before it reads the
// numbers: so either the thread counts the call, or the rank waits for the decision.
//
// Each rank makes or opens it, whichever comes first: memory of zeros is its initial state, so no
// rank waits for another. It lives as long as any of the processes does; the last rank to attach
// removes the name in /dev/shm.
#pragma once

#include "endpoint/mpi/model/message.hpp"
#include "endpoint/mpi/model/terms.hpp"
#include "endpoint/mpi/node/signal.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tributary::mpi::node {

/// Called by any thread that waits for long (signal.hpp).
using Idle = std::function<void()>;

class Arena {
public:
  /// Makes or opens it; `name` ("/something") is known to its `ranks` ranks only, which give the
  /// same numbers. Throws std::runtime_error, also without enough room: the memory of an arena can
  /// be written without a fault. After an error at any rank all call remove_name().
  static Arena attach(const std::string& name, std::uint32_t ranks, std::size_t part_bytes);
  /// For a node with one rank: memory of this process alone.
  static Arena alone(std::size_t part_bytes);
  /// Removes the name, if it is there; the memory stays.
  static void remove_name(const std::string& name);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  [[nodiscard]] std::size_t part_bytes() const { return part_bytes_; }
  [[nodiscard]] std::byte* part(std::uint32_t rank) const;
  [[nodiscard]] std::byte* result(StepNumber step) const;

  // Steps
  /// `terms`: of the step's call.
  void arrive(std::uint32_t rank, StepNumber step, const Terms& terms);
  /// Valid for a rank that has arrived, until the step is finished.
  [[nodiscard]] const Terms& terms(std::uint32_t rank) const { return seat(rank).terms; }
  void wait_for_all(StepNumber step, const Idle& idle);
  [[nodiscard]] bool has_arrived(std::uint32_t rank, StepNumber step) const {
    return seat(rank).arrived.load(std::memory_order_acquire) >= step;
  }
  void finish(StepNumber step);
  void wait_for_result(StepNumber step, const Idle& idle);

  // The gate
  /// A rank begins call `call`. False: the MPI library makes it, and all later ones.
  [[nodiscard]] bool enter(std::uint32_t rank, CallNumber call);
  /// Closes the gate; returns the last call that any rank has begun.
  [[nodiscard]] CallNumber freeze();
  /// Opens it for calls up to `last`.
  void decide(CallNumber last);
  [[nodiscard]] bool is_frozen() const;

  // The end
  /// At the leader: no further communicator uses the arena.
  void vacate();
  [[nodiscard]] bool is_vacated() const;

private:
  // Zeros are the initial state of both.
  struct alignas(64) Seat {
    std::atomic<CallNumber> entered{0};
    std::atomic<StepNumber> arrived{0};
    Terms terms;
  };
  struct alignas(64) Head {
    std::atomic<StepNumber> finished{0};
    std::atomic<std::uint32_t> frozen{0};
    std::atomic<CallNumber> decided{0}; ///< 1 + the last call that is made here; 0: undecided
    std::atomic<std::uint32_t> attached{0};
    std::atomic<std::uint32_t> vacated{0};
    alignas(64) Signal arrivals;
    alignas(64) Signal results;
  };

  Arena(void* at, std::size_t bytes, std::uint32_t ranks, std::size_t part_bytes);
  [[nodiscard]] Head& head() const { return *static_cast<Head*>(at_); }
  [[nodiscard]] Seat& seat(std::uint32_t rank) const;

  void* at_;
  std::size_t bytes_;
  std::uint32_t ranks_;
  std::size_t part_bytes_;
};

/// Equal for all processes that can share memory, on one machine or in one container.
[[nodiscard]] std::uint64_t node_identity();
/// Equal for all processes that share processors, whatever namespaces they are in.
[[nodiscard]] std::uint64_t machine_identity();

} // namespace tributary::mpi::node
