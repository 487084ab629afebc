// The state of one communicator: undecided until its first call that could be reduced in the
// network, which sets it up at all its ranks; from then on it permanently has a team or none.
#pragma once

#include "endpoint/mpi/collectives/worker.hpp"
#include "endpoint/mpi/intra_node/team.hpp"
#include "endpoint/mpi/intra_node/teams.hpp"
#include "endpoint/mpi/model/choices.hpp"
#include "endpoint/mpi/model/plan.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

namespace tributary::mpi::collectives {

class Runtime;
class PersistentQueue;

/// Lets the MPI library make progress for others, as every waiting call of it must: a message that
/// it has not sent yet may be what a rank needs that we wait for.
void progress();

class Communicator {
public:
  Communicator(Runtime& runtime, MPI_Comm comm);
  ~Communicator();

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int rank() const { return rank_; }

  /// Collective, in a call that may block. Afterwards reason() is final, except for a fault.
  void set_up();
  /// The same for a communicator whose calls are chosen elsewhere (persistent_queue.hpp).
  void set_up_without_choices();
  [[nodiscard]] bool is_decided() const { return decided_; }
  /// Call it before each call that may block: where no tree had room, some calls look again.
  void look_again();
  /// Why none of its calls go through the network; `none`: they do.
  [[nodiscard]] Reason reason() const { return reason_; }
  [[nodiscard]] Abilities abilities() const { return abilities_; }
  /// Where the next call goes; asked once for each call, at all ranks alike. A blocking call may
  /// belong to an experiment, whose ranks combine their times here.
  [[nodiscard]] Transport next_way(Kind kind, std::uint64_t bytes);

  /// Where calls of this kind and size go, as far as known: without an experiment, and uncounted.
  [[nodiscard]] Transport known_way(Kind kind, std::uint64_t bytes) const {
    return choices_.transport(kind, bytes);
  }

  /// What decides where calls of this kind and length go; null: all of them go the same way
  /// (call_caches.hpp).
  [[nodiscard]] Schedule* schedule(Kind kind, std::uint64_t bytes) {
    return reason_ == Reason::none ? choices_.schedule(kind, bytes) : nullptr;
  }

  /// Whether the next call of the communicator is made here; false: the fabric has failed, so the
  /// MPI library makes this call and all later ones.
  [[nodiscard]] bool enter();
  /// Makes the call, after all that were begun before. Returns when it is done.
  void run(intra_node::Call call);
  /// The same on a thread that may not call MPI. Requires that no other thread runs calls.
  void run_without_mpi(intra_node::Call call);
  /// Makes the call on the worker's thread; `done` is called there.
  void run_later(intra_node::Call call, std::function<void()> done);

  /// The queue of its persistent operations. The first call is collective.
  [[nodiscard]] std::shared_ptr<PersistentQueue> persistent_queue();

  [[nodiscard]] intra_node::Place place_of(int rank) const {
    return shape_->places[static_cast<std::size_t>(rank)];
  }
  /// Call it before enter(), in a call that may block: where its calls are long it takes a team
  /// that is better for them, if there is one (Setup::move).
  void move_if_heavy();

  /// Waits until all calls that were begun are done.
  void drain();
  enum class End : std::uint8_t {
    freed, ///< collective; may wait for other ranks where counts are handed over, otherwise does not
    at_exit, ///< all ranks have ended all calls: Teams::leave_all() follows
  };
  /// Gives its team back.
  void retire(End end);
  /// Whether its ranks have to wait for each other at the end if it was not freed.
  [[nodiscard]] bool waits_at_end() const { return use_.team != nullptr || hands_over_counts_; }
  [[nodiscard]] MPI_Comm handle() const { return comm_; }
  /// After retire(): is undecided, as initially.
  void begin_again();
  /// Gives its team back without MPI, where the MPI library frees the communicator.
  void give_back();

private:
  friend class Setup;
  /// `has_new_team`: otherwise it has what the team's last communicator knew.
  void choose_ways(bool has_new_team);
  double measure(); ///< returns its duration in microseconds
  /// A call of the program follows. All ranks count the same ones, so they come to the same
  /// judgement of the ids that they need (contexts/call_history.hpp).
  void count(intra_node::Call& call);
  /// run() without that, for calls that the program does not make.
  void run_uncounted(const intra_node::Call& call);
  /// Collective: replaces each time by the mean of the ranks, the same at all of them.
  [[nodiscard]] std::vector<double> mean_of_all(std::span<const double> microseconds) const;
  void print_choices(std::string_view when) const;
  /// The node of each rank: what is measured holds for communicators of the same.
  [[nodiscard]] std::vector<std::uint32_t> nodes() const;
  [[nodiscard]] std::string name() const;
  void decide_alone();
  void stop_worker();
  /// Ends what uses the team, and keeps what was measured.
  void stop_using();
  /// Gives the team back, which no other communicator shall have.
  void give_up_team();

  Runtime& runtime_;
  MPI_Comm comm_;
  int size_ = 0;
  int rank_ = 0;
  bool decided_ = false;
  bool makes_choices_ = true;
  bool hands_over_counts_ = false; ///< some of its ranks have no MPI_COMM_WORLD
  Reason reason_ = Reason::none;
  Abilities abilities_;
  Choices choices_;
  std::shared_ptr<const intra_node::Shape> shape_; ///< null until it is set up
  intra_node::RankSet* ranks_ = nullptr;
  intra_node::TeamUse use_;
  std::uint64_t calls_without_ids_ = 0;
  bool was_refused_ = false; ///< at rank 0: it is counted among those that got no group
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<PersistentQueue> queue_;
};

} // namespace tributary::mpi::collectives
