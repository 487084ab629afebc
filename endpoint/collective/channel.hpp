// What root and leaf have in common: the group's parameters, the frames they compose and admit, the
// counters, the outbox, and the numbering of pieces. It knows nothing of sequences or states.
#pragma once

#include "endpoint/collective/completion_queue.hpp"
#include "endpoint/collective/group_parameters.hpp"
#include "endpoint/collective/outbox.hpp"
#include "endpoint/collective/statistics.hpp"
#include "tributary/wire/reduction.hpp"

namespace tributary::collective {

struct Channel {
  explicit Channel(const GroupParameters& p) : parameters(p) {}

  GroupParameters parameters;
  Statistics statistics;
  Outbox outbox;
  CompletionQueue completions;
  PieceNumber next_piece = 0;

  /// Puts one frame into the outbox, or counts that it was full.
  void send(ReductionId id, const wire::ReductionWord& word, const wire::Payload& payload,
            std::uint64_t signature = 0);
  /// Whether a frame bears this group's tree, VNI and cookie and a known opcode, and is not one of
  /// this host's own; counts it if not.
  [[nodiscard]] bool admits(const wire::ReductionFrame& frame);
  /// Hands a finished piece to its owner.
  void complete(const Completion& completion);
};

} // namespace tributary::collective
