// A communicator gets its team: collective over it, in its first call that could be reduced in the
// network and may block.
//
//   1  who its ranks are: known since MPI_Init (directory.hpp)
//   2  one agreement: nothing is wrong, and which team it gets (model/setup_offer.hpp)
//
// If that team is an idle one of the same ranks, this is all. Otherwise a new one is made, and
// after every step that can fail at one rank all agree whether it did, so that either all have it
// or none:
//
//   3  shared memory of each node                   no room in /dev/shm
//      leaders connect to the coordinator           no connection between nodes but MPI's
//   4  agreement on a context: ids of a tree        no fabric manager, wrong token, quota, no tree;
//      that these nodes share                       all ids in use
//   5  the faster way is measured
//
// The first communicator of a set of nodes waits for their first tree. Later trees are asked for
// ahead, in the background; a communicator that finds no ids is the MPI library's, and looks again
// (Communicator::look_again).
//
// One whose calls are long does 2 to 4 again, between two of them, and keeps the team that it has
// where that fails.
//
// Only a failure needs further messages, which say what it was.
#pragma once

#include "endpoint/contexts/agreement.hpp"
#include "endpoint/mpi/collectives/directory.hpp"
#include "endpoint/mpi/intra_node/fabric_group.hpp"
#include "endpoint/mpi/intra_node/team.hpp"
#include "endpoint/mpi/intra_node/teams.hpp"
#include "endpoint/mpi/model/context_step.hpp"
#include "endpoint/mpi/model/refusal.hpp"
#include "endpoint/mpi/model/setup_offer.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

namespace tributary::mpi::collectives {

class Runtime;
class Communicator;

class Setup {
public:
  Setup(Runtime& runtime, Communicator& communicator);
  /// Leaves the communicator with a team, or with a reason why not.
  void run();
  /// Gives it another team, if all ranks can have one, for its calls are long: with the half of a
  /// tree, and with long parts where they do not fit into short ones; for these alone, too. Waits
  /// for no tree.
  void move();

private:
  struct Stop {}; ///< thrown: the communicator gets no team, and its reason is set

  /// What has failed at this rank.
  struct Trouble {
    Refusal cause = Refusal::other;
    std::string text; ///< "": nothing
  };

  void find_ranks();
  [[nodiscard]] intra_node::Shape shape() const;
  [[nodiscard]] std::uint32_t spinning() const;
  [[nodiscard]] SetupVerdict agree_on_team();
  void take_over(intra_node::TeamUse use);
  void make(const SetupVerdict& verdict);
  void make_locally(TeamKey key, std::size_t part_bytes);
  /// The node's place among those of the communicator, as in the set of them.
  void find_set();
  /// The new team's context, with which the team is complete: `use`. Otherwise it stops.
  void find_context(const SetupVerdict& verdict, bool has_long_parts, intra_node::TeamUse& use);
  /// Counts a communicator without a context where the fabric manager refuses another tree.
  void report_refused_tree();
  enum class Found : std::uint8_t { context, none, tree_is_ready, idle_are_finished };
  [[nodiscard]] Found find_context_once(contexts::Parent& parent, contexts::RangeSize size,
                                        const SetupVerdict& verdict, bool has_long_parts,
                                        bool may_finish_idle, intra_node::TeamUse& use);
  /// At a leader whose agreement is over: acts on it. Returns the tree that it waits for.
  [[nodiscard]] std::optional<contexts::TreeName> take_outcome(const contexts::Outcome& outcome,
                                                               const SetupVerdict& verdict,
                                                               bool has_long_parts,
                                                               intra_node::TeamUse& use);
  [[nodiscard]] intra_node::TeamUse put_together(const SetupVerdict& verdict, bool has_long_parts);
  [[nodiscard]] intra_node::Watch::Reporter
  reporter(TeamKey key, const std::shared_ptr<intra_node::Label>& label) const;

  /// Runs `work` where `here` is true and nothing has failed yet.
  template <typename Work> void attempt(bool here, Refusal cause, Work&& work);
  /// Collective: all stop if something has failed at any rank, and the refusal is counted.
  void agree();
  /// All ranks call it, with the same reason.
  [[noreturn]] void stop(Refusal cause, const std::string& why);
  [[nodiscard]] bool leads() const { return place_.rank == 0; }
  [[nodiscard]] const Introduction& introduction_of(int rank) const {
    return directory_->ranks()[static_cast<std::size_t>(rank)];
  }

  Runtime& runtime_;
  Communicator& communicator_;
  MPI_Comm comm_;
  std::optional<Directory> gathered_;
  const Directory* directory_ = nullptr;
  std::vector<int> ranks_; ///< in the directory
  intra_node::RankList processes_;
  intra_node::Place place_;
  std::uint32_t nodes_ = 0;
  bool moves_ = false;        ///< it has a team
  intra_node::TeamNeed need_; ///< of a team
  Trouble trouble_;
  contexts::NodeSet set_;                 ///< of the communicator's nodes
  std::vector<std::uint32_t> set_places_; ///< by node of the communicator: its place in the set
  std::unique_ptr<intra_node::FabricGroup> group_;
  std::optional<node::Arena> arena_;
  std::shared_ptr<intra_node::Label> label_ =
      std::make_shared<intra_node::Label>(); ///< of a new team
  /// Whether a line about a refused communicator was written, as far as one of the ranks knows.
  bool told_ = false;
  bool wide_ = true;
  ContextStep::Ids ids_; ///< of the context, at a leader
};

} // namespace tributary::mpi::collectives
