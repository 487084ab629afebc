// What one process has of the offload: settings, numbers, the state of its communicators.
#pragma once

#include "mpi/core/choices.hpp"
#include "mpi/core/plan.hpp"
#include "mpi/core/settings.hpp"
#include "mpi/core/statistics.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

namespace tributary::mpi::offload {

class Communicator;

class Runtime {
public:
  /// After MPI_Init. Without it nothing is offloaded.
  static void start();
  /// At the program's end: says when MPI was initialised past this library, which then has done
  /// nothing. Answers whether the program was not to go on without it.
  [[nodiscard]] static bool was_passed_by();
  /// Null before start() and after end().
  [[nodiscard]] static Runtime* get() { return current_.load(std::memory_order_acquire); }
  /// Before MPI_Finalize; collective.
  static void end();

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// What the program wishes of reductions, in a group that can do everything.
  [[nodiscard]] Abilities wishes() const {
    return {.wide_frames = true,
            .reproducible = settings_.reproducible,
            .nan_wins = settings_.nan_wins};
  }

  /// A communicator of this process alone, whose errors are answers: to ask the MPI library what it
  /// would say.
  [[nodiscard]] MPI_Comm alone() const { return alone_; }

  /// Lets the MPI library go on, by asking for a message that never comes. (MPI_Iprobe would not
  /// do: Open MPI goes on only where there is none, MPICH not at all.)
  void progress();

  /// The state of a communicator; made when it is asked for the first time. Null: the MPI library
  /// does not know this communicator.
  [[nodiscard]] Communicator* of(MPI_Comm comm);
  /// Before a communicator is freed; collective over it.
  void retire(MPI_Comm comm);

  /// What was measured in a communicator of this shape, if anything was.
  [[nodiscard]] std::optional<Knowledge> known_of(std::uint64_t shape);
  void remember(std::uint64_t shape, const Knowledge& known);

  void count(Kind kind, Reason reason, std::uint64_t calls = 1) {
    cells_[cell(kind, reason)] += calls;
  }
  void count_bytes(std::uint64_t bytes) { cells_[Statistics::bytes_at] += bytes; }
  void count_rescue() { ++cells_[Statistics::recovered_at]; }
  void count_group() { ++cells_[Statistics::groups_at]; }

private:
  Runtime();
  static std::size_t cell(Kind kind, Reason reason) {
    return static_cast<std::size_t>(kind) * reason_count + static_cast<std::size_t>(reason);
  }
  static int forget(MPI_Comm comm, int key, void* state, void* extra);
  void print_summary();

  static std::atomic<Runtime*> current_;
  Settings settings_;
  int key_ = MPI_KEYVAL_INVALID;
  MPI_Comm silent_ = MPI_COMM_NULL; ///< a copy of MPI_COMM_WORLD on which nobody sends anything
  MPI_Comm alone_ = MPI_COMM_NULL;
  std::mutex progress_;
  MPI_Request never_ = MPI_REQUEST_NULL; ///< a message on it
  char nothing_ = 0;
  std::mutex mutex_;
  std::vector<Communicator*> all_;           ///< in the order in which they were made
  std::map<std::uint64_t, Knowledge> known_; ///< by shape
  std::array<std::atomic<std::uint64_t>, Statistics::size> cells_{};
};

} // namespace tributary::mpi::offload
