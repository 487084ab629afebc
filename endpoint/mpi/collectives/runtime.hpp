// The offload's state in one process: settings, numbers, the state of its communicators. It begins
// with MPI_Init or the first session, and ends with the last of them.
//
// At the end no rank may lack a result of a communicator that is left: its ranks wait for each
// other before they leave its group. In MPI_Finalize they do so in MPI_COMM_WORLD. Sessions have no
// communicator of all processes, and processes need not have the same sessions. So there each
// communicator that was not freed is waited for, when the last session of a process ends.
//
// In MPI_Init all ranks introduce themselves to each other (directory.hpp), where no process began
// by a session: then communicators of sessions do so, each for itself, because processes need not
// have the same ones.
//
// A summary, too, covers MPI_COMM_WORLD. Ranks outside it hand their numbers to rank 0 of a
// communicator whenever one of sessions ends; a process that has some at its own end prints them.
#pragma once

#include "endpoint/mpi/collectives/directory.hpp"
#include "endpoint/mpi/collectives/newer.hpp"
#include "endpoint/mpi/intra_node/connections.hpp"
#include "endpoint/mpi/intra_node/first_sibling.hpp"
#include "endpoint/mpi/intra_node/teams.hpp"
#include "endpoint/mpi/intra_node/trees.hpp"
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
  /// Call it after MPI_Init. Without it, or a session, nothing is offloaded.
  static void start();
  /// Call it after MPI_Session_init.
  static void begin_session(MPI_Session session);
  /// Call it before MPI_Session_finalize.
  static void end_session(MPI_Session session);
  /// At the program's end: reports when MPI was initialised past this library, which then has done
  /// nothing. Returns whether the program had required the offload.
  [[nodiscard]] static bool was_passed_by();
  /// Null before the program initialises MPI, and after the end.
  [[nodiscard]] static Runtime* get() { return current_.load(std::memory_order_acquire); }
  /// Call it before MPI_Finalize; collective.
  static void end();

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// The program's options for reductions, in a group with all abilities.
  [[nodiscard]] Abilities wanted_abilities() const {
    return {.wide_frames = true,
            .reproducible = settings_.reproducible,
            .nan_wins = settings_.nan_wins};
  }

  /// A communicator of this process alone, whose errors are returned: to test how the MPI library
  /// reacts.
  [[nodiscard]] MPI_Comm alone() const { return home_.alone; }

  /// Whether MPI_COMM_WORLD exists.
  [[nodiscard]] bool has_world() const { return has_world_; }
  /// All processes started together with this one. The caller frees it.
  [[nodiscard]] MPI_Group world_group() const;
  /// The ranks of MPI_COMM_WORLD; null where communicators gather their own.
  [[nodiscard]] const Directory* world() const { return world_ ? &*world_ : nullptr; }
  /// What this process says about itself.
  [[nodiscard]] Introduction introduction() const;

  /// Only where the library is on.
  [[nodiscard]] intra_node::Teams& teams() { return *teams_; }
  [[nodiscard]] intra_node::Connections& connections() { return *connections_; }
  [[nodiscard]] intra_node::Trees& trees() { return *trees_; }

  /// Collective over a communicator: its rank 0 takes over what all its ranks have counted.
  void hand_over_counts(MPI_Comm comm);

  /// Lets the MPI library make progress, by asking for a message that never arrives. (MPI_Iprobe
  /// would not do: with Open MPI it makes progress only without a message, with MPICH not at all.)
  void progress();

  /// The state of a communicator; created on first use. Null: the MPI library does not know this
  /// communicator.
  [[nodiscard]] Communicator* of(MPI_Comm comm);
  /// Call it before a communicator is freed; collective over it.
  void retire(MPI_Comm comm);

  /// What was measured in a communicator whose ranks are on these nodes; nullopt if nothing was.
  [[nodiscard]] std::optional<Knowledge> known_of(const std::vector<std::uint32_t>& nodes);
  void remember(const std::vector<std::uint32_t>& nodes, const Knowledge& known);

  void count(Kind kind, Reason reason, std::uint64_t calls = 1) {
    cells_[cell(kind, reason)] += calls;
  }
  void count_bytes(std::uint64_t bytes) { cells_[Statistics::bytes_at] += bytes; }
  void count_rescue() { ++cells_[Statistics::recovered_at]; }
  void count_group() { ++cells_[Statistics::groups_at]; }

  /// A communicator of several nodes got no group.
  struct Refused {
    std::string communicator; ///< its name
    Refusal cause = Refusal::other;
    std::string why;     ///< "rank 3 says: ..."
    bool counts = false; ///< at one of its ranks, which may write a line
    bool told = false;   ///< one of its ranks knows that a line was written about another one
  };
  /// Call it at all its ranks. The first writes a line, all are counted.
  void refused(const Refused& refused);
  [[nodiscard]] bool was_told_of_a_refusal() const {
    return told_of_a_refusal_.load(std::memory_order_relaxed);
  }

private:
  explicit Runtime(bool in_world);
  /// Collective over MPI_COMM_WORLD.
  void introduce();
  /// The memory in which the processes of this node know their trees.
  void attach_table(const Directory& all);
  void end_world();
  void end_last();
  static std::size_t cell(Kind kind, Reason reason) {
    return static_cast<std::size_t>(kind) * reason_count + static_cast<std::size_t>(reason);
  }
  static int forget(MPI_Comm comm, int key, void* state, void* extra);
  [[nodiscard]] Statistics take_counts();
  void add_counts(const Statistics& more);
  void print_summary(const Statistics& all, std::uint64_t ranks, const std::string& refusal) const;
  /// A refusal that one of the ranks of MPI_COMM_WORLD knows; collective over it.
  [[nodiscard]] std::string some_refusal();

  /// The objects by which this library itself calls MPI, besides the program's communicators.
  struct Home {
    bool has_session = false;
    MPI_Session session{}; ///< separate, so that it outlives those of the program
    MPI_Comm alone = MPI_COMM_NULL;
    MPI_Request never = MPI_REQUEST_NULL; ///< a receive that no message matches
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
  static std::mutex life_; ///< guards the begin and the end
  Settings settings_;
  int key_ = MPI_KEYVAL_INVALID;
  bool has_world_ = false;
  bool began_by_session_ = false;    ///< before MPI_Init
  std::set<std::uint64_t> sessions_; ///< sessions of the program
  Home home_;
  std::optional<Directory> world_;
  std::unique_ptr<intra_node::Connections> connections_;
  std::unique_ptr<intra_node::Trees> trees_; ///< before teams, which use it
  std::unique_ptr<intra_node::Teams> teams_;
  std::string table_name_; ///< "": no memory of the node
  std::mutex progress_;
  std::mutex mutex_;
  std::vector<Communicator*> all_;                        ///< in order of creation
  std::map<std::vector<std::uint32_t>, Knowledge> known_; ///< by the nodes of the ranks
  std::array<std::atomic<std::uint64_t>, Statistics::size> cells_{};
  std::atomic<bool> told_of_a_refusal_{false};
  intra_node::FirstSibling first_to_tell_{"refused"};
  std::string first_refusal_; ///< that this process knows of
};

/// Objects made from MPI's once, on first use; one per runtime, because MPI's objects end with it.
/// T is constructed from the runtime.
template <typename T> class OfRuntime {
public:
  const T& of(const Runtime& runtime) {
    const std::lock_guard lock(mutex_);
    if (runtime_ != &runtime) { // runtimes that have ended keep their address
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
