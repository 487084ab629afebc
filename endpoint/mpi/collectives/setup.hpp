// A communicator gets its group: collective over it, in its first call that could be reduced in the
// network and may block. After every step that can fail at one rank all agree whether it did, so
// that either all have the group or none.
//
//   1  nodes of the ranks; same version and settings everywhere
//   2  leaders open their interface             no CAP_NET_RAW, no such interface
//   3  shared memory of each node               no room in /dev/shm
//   4  leaders connect to the coordinator       no connection between nodes but MPI's
//   5  leaders join the group                   no fabric manager, wrong token, quota, no tree
//   6  the faster way is measured
#pragma once

#include "endpoint/mpi/intra_node/fabric_group.hpp"
#include "endpoint/mpi/intra_node/team.hpp"
#include "endpoint/mpi/model/refusal.hpp"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <mpi.h>

namespace tributary::mpi::collectives {

class Runtime;
class Communicator;

class Setup {
public:
  Setup(Runtime& runtime, Communicator& communicator);
  /// Leaves the communicator with a team, or with a reason why not.
  void run();

private:
  struct Stop {}; ///< thrown: the communicator has no group, and its reason is set

  void find_nodes();
  void choose_spinning(long ranks_here);
  void refuse_foreigners();
  void share_secret();
  void open_interface();
  void make_arena();
  void connect_leaders();
  void join();
  void put_together();

  /// A step that has failed at this rank.
  struct Trouble {
    Refusal cause = Refusal::other;
    std::string text; ///< "": it has not
  };
  /// Runs `work` where `here` is true; when it throws at any rank, all stop, and the refusal is
  /// counted. `cause`: unless the error names one.
  template <typename Work> void together(bool here, Refusal cause, Work&& work);
  void agree(const Trouble& trouble);
  [[nodiscard]] bool leads() const { return rank_in_node_ == 0; }

  Runtime& runtime_;
  Communicator& communicator_;
  MPI_Comm comm_;
  std::uint32_t node_ = 0;
  std::uint32_t nodes_ = 0;
  std::uint32_t rank_in_node_ = 0;
  std::uint32_t spin_usec_ = 0;
  std::uint32_t ranks_in_node_ = 0;
  std::string secret_;
  std::unique_ptr<intra_node::FabricGroup> group_;
  std::optional<node::Arena> arena_;
  std::optional<intra_node::MessageStream> to_coordinator_;
  std::deque<intra_node::MessageStream> from_leaders_;
  std::vector<std::string> leaders_; ///< by node: "rank 4 on h2"; only at rank 0
  std::string coordinator_name_;
  /// Whether a line about a refused communicator was written, as far as one of the ranks knows.
  bool told_ = false;
};

} // namespace tributary::mpi::collectives
