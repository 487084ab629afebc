// What root and leaf have in common: the group's parameters, the frames they compose and admit, the
// counters, the outbox, and the numbering of pieces. It knows nothing of sequences or states.
#pragma once

#include "endpoint/collective/completion_queue.hpp"
#include "endpoint/collective/group_parameters.hpp"
#include "endpoint/collective/outbox.hpp"
#include "endpoint/collective/statistics.hpp"
#include "tributary/wire/reduction.hpp"

#include <memory>
#include <optional>

namespace tributary::collective {

struct Channel {
  /// With an outbox of its own, or one that it shares with other members of the same thread.
  explicit Channel(const GroupParameters& p, Outbox* shared = nullptr)
      : parameters(p), own_outbox(shared == nullptr ? std::make_unique<Outbox>() : nullptr),
        outbox(shared == nullptr ? *own_outbox : *shared) {}

  GroupParameters parameters;
  Statistics statistics;
  std::unique_ptr<Outbox> own_outbox; ///< null when it is shared
  Outbox& outbox;
  CompletionQueue completions;
  PieceNumber next_piece = 0;

  [[nodiscard]] std::size_t tree_count() const { return parameters.tree_count(); }
  /// Puts one frame for one tree into the outbox, or counts that it was full.
  void send(TreeIndex tree, ReductionId id, const wire::ReductionWord& word,
            const wire::Payload& payload, std::uint64_t signature = 0);
  /// The same for every tree of the group.
  void send_on_all(ReductionId id, const wire::ReductionWord& word, const wire::Payload& payload,
                   std::uint64_t signature = 0);
  /// Which of this group's trees a frame came on, if it bears the group's VNI and cookie and a
  /// known opcode, and is not one of this host's own; otherwise nothing, and it is counted.
  [[nodiscard]] std::optional<TreeIndex> admit(const wire::ReductionFrame& frame);
  /// Hands a finished piece to its owner.
  void complete(const Completion& completion);
};

} // namespace tributary::collective
