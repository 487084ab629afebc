// What one communicator has of the fabric at the leader of a node: a context of a tree that it
// shares with others (contexts/context.hpp), through the C API. Another process of the node may
// hold the tree; its moves and its end are in the table.
#pragma once

#include "endpoint/contexts/context.hpp"
#include "endpoint/mpi/intra_node/fabric_host.hpp"
#include "endpoint/mpi/intra_node/trees.hpp"
#include "endpoint/mpi/model/plan.hpp"
#include "tributary/tributary.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::mpi::intra_node {

class FabricGroup final : private TreeUser {
public:
  /// `places`: of the communicator's nodes in their set; `node`: this one among them. Takes over
  /// the context, which is free when the group is closed, and when this throws: NoGroup.
  FabricGroup(Trees& trees, const contexts::Context& context, std::vector<std::uint32_t> places,
              std::uint32_t node);
  FabricGroup(const FabricGroup&) = delete;
  FabricGroup& operator=(const FabricGroup&) = delete;
  ~FabricGroup();

  /// S of its tree, and bytes of elements in a frame.
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  [[nodiscard]] std::uint32_t payload() const { return payload_; }
  [[nodiscard]] bool has_wide_frames() const;

  /// `differs`: nodes began different steps. With it and `failed` error() has the reason.
  enum class Outcome : std::uint8_t { done, not_yet, failed, differs };
  /// Begins a step.
  Outcome begin_reduction(const Plan& plan, const std::byte* in, std::byte* out,
                          std::size_t elements);
  Outcome begin_broadcast(std::byte* buffer, std::size_t bytes, std::uint32_t from_node);
  Outcome begin_barrier();
  /// Waits for the step.
  Outcome wait(std::chrono::milliseconds limit);

  /// Between two steps, the same two at all nodes: uses the first `ids` of its ids from now on. The
  /// others are another context's when all nodes have done so. False: error() has the reason.
  [[nodiscard]] bool keep_ids(std::uint8_t ids);

  /// Pieces of steps completed so far.
  [[nodiscard]] std::uint64_t pieces() const;
  /// Members that it waits for, on one line.
  [[nodiscard]] std::string state() const;
  /// Error of the last call that failed.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Gives the context back. Sends nothing and waits for no node: all have their results. The
  /// memory of a step that is under way is not used afterwards.
  void close();
  /// The same where the fabric has failed: nothing more of the tree is given out at this node.
  void give_up();

private:
  Outcome begun(int code);
  Outcome ended(int code);
  bool look() override;
  /// Moves with the tree. False: it has ended; `fault_` has the reason. Requires the turn.
  [[nodiscard]] bool follow();
  [[nodiscard]] tributary_group_options options(const contexts::TreeFacts& facts) const;

  Trees& trees_;
  FabricHost& host_;
  contexts::Context context_;
  std::vector<std::uint32_t> places_;
  std::uint32_t node_;
  bool has_context_ = true;
  std::uint32_t slots_ = 0;
  std::uint32_t payload_ = 0;
  std::uint32_t moves_ = 0;
  std::uint64_t seen_ = 0; ///< version of the table
  tributary_group* group_ = nullptr;
  tributary_request* request_ = nullptr;
  /// Why it cannot follow its tree any more. Written and read in a turn.
  std::string fault_;
  std::string error_;
};

} // namespace tributary::mpi::intra_node
