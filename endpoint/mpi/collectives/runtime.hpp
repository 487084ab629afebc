// What one process has of the offload: settings, numbers, the state of its communicators. It begins
// with MPI_Init or the first session, and ends with the last of them.
//
// At the end nobody may lack a result of a communicator that is left: its ranks wait for each other
// before they leave its group. In MPI_Finalize they do so in MPI_COMM_WORLD. Sessions have no
// communicator of all processes, and processes need not have the same sessions. So there each
// communicator that was not freed is waited for, when the last session of a process ends.
//
// A summary is likewise of MPI_COMM_WORLD. Ranks without it hand their numbers to rank 0 of a
// communicator whenever one of sessions ends; whoever has some at its own end prints them.
#pragma once

#include "endpoint/mpi/collectives/newer.hpp"
#include "endpoint/mpi/model/choices.hpp"
#include "endpoint/mpi/model/plan.hpp"
#include "endpoint/mpi/model/settings.hpp"
#include "endpoint/mpi/model/statistics.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <mpi.h>

namespace tributary::mpi::collectives {

class Communicator;

class Runtime {
public:
  /// After MPI_Init. Without it, or a session, nothing is offloaded.
  static void start();
  /// After MPI_Session_init.
  static void begin_session(MPI_Session session);
  /// Before MPI_Session_finalize.
  static void end_session(MPI_Session session);
  /// At the program's end: says when MPI was initialised past this library, which then has done
  /// nothing. Answers whether the program was not to go on without it.
  [[nodiscard]] static bool was_passed_by();
  /// Null before MPI is initialised by the program, and after its end.
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
  [[nodiscard]] MPI_Comm alone() const { return home_.alone; }

  /// Whether there is MPI_COMM_WORLD.
  [[nodiscard]] bool has_world() const { return has_world_; }
  /// All processes that this one was started with. The caller frees it.
  [[nodiscard]] MPI_Group everybody() const;

  /// Collective over a communicator: its rank 0 takes over what all its ranks have counted.
  void hand_over_counts(MPI_Comm comm);

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
  explicit Runtime(bool in_world);
  void end_world();
  void end_last();
  static std::size_t cell(Kind kind, Reason reason) {
    return static_cast<std::size_t>(kind) * reason_count + static_cast<std::size_t>(reason);
  }
  static int forget(MPI_Comm comm, int key, void* state, void* extra);
  [[nodiscard]] Statistics take_counts();
  void add_counts(const Statistics& more);
  void print_summary(const Statistics& all, std::uint64_t ranks) const;

  /// Where this library itself calls MPI, beside the program's communicators.
  struct Home {
    bool has_session = false;
    MPI_Session session{}; ///< its own, so that it outlives those of the program
    MPI_Comm alone = MPI_COMM_NULL;
    MPI_Request never = MPI_REQUEST_NULL; ///< a message on it that nobody sends
    /// In MPI_COMM_SELF.
    void open_in_world();
    /// False: the MPI library refuses.
    [[nodiscard]] bool open_in_session();
    void close();
    void wait_for_nothing();

  private:
    char nothing_ = 0;
  };

  static std::atomic<Runtime*> current_;
  static std::mutex life_; ///< of what begins and ends
  Settings settings_;
  int key_ = MPI_KEYVAL_INVALID;
  bool has_world_ = false;
  std::set<std::uint64_t> sessions_; ///< of the program
  Home home_;
  std::mutex progress_;
  std::mutex mutex_;
  std::vector<Communicator*> all_;           ///< in the order in which they were made
  std::map<std::uint64_t, Knowledge> known_; ///< by shape
  std::array<std::atomic<std::uint64_t>, Statistics::size> cells_{};
};

/// What is made of MPI's objects once, when it is asked for first; in each runtime, for the objects
/// end with it. T is made of the runtime.
template <typename T> class OfRuntime {
public:
  const T& of(const Runtime& runtime) {
    const std::lock_guard lock(mutex_);
    if (runtime_ != &runtime) { // runtimes that have ended stay where they were
      runtime_ = &runtime;
      made_.emplace(runtime);
    }
    return *made_;
  }

private:
  std::mutex mutex_;
  const Runtime* runtime_ = nullptr;
  std::optional<T> made_;
};

} // namespace tributary::mpi::collectives
