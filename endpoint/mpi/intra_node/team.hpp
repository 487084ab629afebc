// The ranks of one communicator on one node: runs calls, step by step, through shared memory and
// the fabric. One object at every rank; the leader's (rank 0 of the node) owns the group.
//
// A team outlives its communicator: one of the same ranks may have it next, and continues with the
// next number of a call, as if it were the same. So what holds between two calls of a communicator,
// such as that a late node still gets the result of the last one, holds between two communicators.
//
//   rank     part -> arena ........................ result <- arena
//   leader        all parts combined -> fabric -> result
//                                    -> coordinator, when the fabric has failed
//
// One thread at a time runs calls, in the order of their numbers.
#pragma once

#include "endpoint/mpi/intra_node/fabric_group.hpp"
#include "endpoint/mpi/intra_node/watch.hpp"
#include "endpoint/mpi/model/plan.hpp"
#include "endpoint/mpi/model/terms.hpp"
#include "endpoint/mpi/node/arena.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::mpi::intra_node {

/// One rank's call, on the program's elements.
struct Call {
  enum class What : std::uint8_t { reduction, broadcast, barrier };
  What what = What::reduction;
  Terms terms; ///< the call
  Plan plan;   ///< its form in frames
  std::size_t elements = 0;
  const std::byte* in = nullptr; ///< null: this rank contributes nothing (broadcast)
  std::byte* out = nullptr;      ///< destination of the elements taken; null: none are
  std::size_t take_from = 0;     ///< the first one that this rank takes
  std::size_t take = 0;          ///< how many
  std::uint32_t from_node = 0;   ///< broadcast: node of the sending rank
  std::uint32_t from_rank = 0;   ///< its number in that node
  /// Ids of its context that the team keeps after the call, the first ones; 0: all of them.
  std::uint8_t keeps_ids = 0;
};

class Team {
public:
  /// `part_bytes` of the arena is the length of a step.
  Team(TeamKey key, node::Arena arena, std::uint32_t rank)
      : key_(key), arena_(std::move(arena)), rank_(rank) {}
  /// Only at the leader. `ranks`: the communicator's ranks on this node in their order. One that
  /// keeps the others waiting for `late_after` is named, once.
  void lead(std::uint32_t node, std::vector<int> ranks, std::unique_ptr<FabricGroup> group,
            std::chrono::milliseconds suspect_after, std::chrono::milliseconds late_after);
  void watch(const Watch::Place& place, Watch::Reporter reporter);

  [[nodiscard]] TeamKey key() const { return key_; }
  [[nodiscard]] node::Arena& arena() { return arena_; }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] bool leads() const { return group_ != nullptr; }

  /// This rank begins the communicator's next call. False: the fabric has failed, so the MPI
  /// library makes it, and all later ones.
  [[nodiscard]] bool enter();
  /// Requires that enter() allowed it. `idle` is called when it waits for long
  /// (node/signal.hpp): others may need progress of this process's MPI library before they arrive.
  void run(const Call& call, const node::Idle& idle);
  /// Whether the coordinator completed a step of the last call; only the leader knows.
  [[nodiscard]] bool was_rescued() const { return rescued_; }

  /// Whether a further communicator may have the team, as far as is known here.
  [[nodiscard]] bool is_usable() const;
  /// At the leader: the team gets no further communicator. The node's other ranks see it at once,
  /// the other nodes receive it; when all have left, Watch::Reporter::ended is called.
  void say_left();
  /// At the leader: leaves the group. Blocks. All ranks have ended all their calls.
  void leave();

private:
  void lead_step(const Call& call, std::size_t elements, const node::Idle& idle);
  bool through_fabric(const Call& call, std::size_t elements, const node::Idle& idle);
  void wait_for_all(const Call& call, const node::Idle& idle);
  /// Ends the program where a rank of this node has made another call than the leader.
  void compare_terms(const Call& call);
  /// Ends the program where the node whose mark is in the result has made another call.
  void check_mark(const Call& call);
  [[noreturn]] void differ_from_other_nodes(const Call& call);
  void add_up(const Call& call, std::size_t elements);

  TeamKey key_;
  node::Arena arena_;
  std::uint32_t rank_;
  CallNumber calls_ = 0;
  StepNumber step_ = 0;
  /// The previous call ended without the result of its last step, of which this rank takes nothing:
  /// its leader finishes it.
  bool left_early_ = false;
  // used by the leader only
  std::uint32_t node_ = 0;
  std::vector<int> ranks_;
  std::chrono::milliseconds suspect_after_{};
  std::chrono::milliseconds late_after_{};
  bool said_late_ = false;
  bool rescued_ = false;
  std::unique_ptr<FabricGroup> group_;
  std::unique_ptr<Watch> watch_;
};

} // namespace tributary::mpi::intra_node
