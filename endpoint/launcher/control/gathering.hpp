// Operations of ranks of several nodes: fences, and the construction and destruction of PMIx
// groups. Every node that hosts one of the ranks contributes once; then each gets the same answer,
// with the data of all in order of arrival. Pure.
//
//   Gatherings gatherings(node_of_rank, {});
//   for (const auto& answer : gatherings.contribute(node, fence, now)) { ... }
//   ... rank_ended, node_lost, time_is, which answer the waiting nodes
//
// Operations are distinguished by kind, name and ranks. Thus groups of other ranks may have the
// same name at the same time, as MPI allows, and nodes that disagree about the ranks of a group do
// not meet: they wait for as long as their ranks requested (PMIX_TIMEOUT).
//
// An operation with a rank that has ended fails immediately. One that fails by a limit does so for
// nodes that contribute later, too, unless a node begins it again. The context IDs of groups are
// given once in a job, from the highest of 32 bits downwards, because a program may use one for
// longer than its group lives: Open MPI destructs the group right after its construction.
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tributary::launch::control {

using NodeIndex = std::uint32_t;

struct GatheringLimits {
  std::size_t name_bytes = 4096;
  /// Data of one operation, whose answer is one message (lib/net/framing.hpp: at most 16 MiB).
  std::size_t data_bytes = std::size_t{15} << 20U;
  std::size_t operations = 4096; ///< at a time
  /// Names, ranks and data of all operations together.
  std::size_t all_bytes = std::size_t{256} << 20U;
  std::size_t failed = 256; ///< failed operations that are kept for nodes that contribute later
};

class Gatherings {
public:
  struct Answer {
    NodeIndex node = 0;
    messages::Fence fence;
  };
  using Answers = std::vector<Answer>;

  Gatherings(std::vector<NodeIndex> node_of_rank, GatheringLimits limits);

  [[nodiscard]] Answers contribute(NodeIndex node, const messages::Fence& part, TimeNs now);
  [[nodiscard]] Answers rank_ended(std::uint32_t rank) {
    return fail_with(rank, messages::ended_without_sync);
  }
  [[nodiscard]] Answers node_lost(NodeIndex node);
  [[nodiscard]] Answers time_is(TimeNs now);

  [[nodiscard]] TimeNs deadline() const;
  /// Number of operations that wait for nodes.
  [[nodiscard]] std::size_t open() const { return open_.size(); }

private:
  /// Kind, name, ranks in ascending order.
  using Key = std::tuple<int, std::string, std::vector<std::uint32_t>>;
  struct Operation {
    std::set<NodeIndex> missing;
    std::map<NodeIndex, std::uint64_t> waiting; ///< nodes, and the numbers of their contributions
    std::string data;
    bool wants_id = false;
    TimeNs end_by = never;
    std::size_t bytes = 0;
  };
  struct Failed {
    std::set<NodeIndex> missing;
    int status = 0;
  };
  using Open = std::map<Key, Operation>;

  [[nodiscard]] int first_problem(NodeIndex node, const messages::Fence& part,
                                  const std::vector<std::uint32_t>& ranks) const;
  /// The status with which this operation failed before this node contributed.
  [[nodiscard]] std::optional<int> failed_before(NodeIndex node, const Key& key);
  [[nodiscard]] Answers fail_with(std::uint32_t rank, int status);
  [[nodiscard]] Answers complete(Open::iterator at);
  /// Nodes that are still missing are notified when they contribute.
  [[nodiscard]] Answers fail(Open::iterator at, int status);
  [[nodiscard]] Answers end(Open::iterator at, int status, std::uint32_t context_id);

  std::vector<NodeIndex> node_of_;
  GatheringLimits limits_;
  Open open_;
  std::map<Key, Failed> failed_;
  std::deque<Key> failed_order_;
  std::map<std::uint32_t, int> ended_; ///< ranks, and the status of operations with them
  std::size_t bytes_ = 0;
  std::uint32_t next_id_ = UINT32_MAX; ///< 0: all have been given
};

} // namespace tributary::launch::control
