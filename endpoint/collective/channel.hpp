// The common part of root and leaf: the group's parameters, the frames they compose and admit, the
// counters, the outbox, and the numbering of pieces. It knows nothing of sequences or states.
#pragma once

#include "endpoint/collective/completion_queue.hpp"
#include "endpoint/collective/flight.hpp"
#include "endpoint/collective/group_parameters.hpp"
#include "endpoint/collective/outbox.hpp"
#include "endpoint/collective/statistics.hpp"
#include "endpoint/collective/wide_operand.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

namespace tributary::collective {

struct Channel {
  /// With its own outbox, or one that it shares with other members of the same thread.
  explicit Channel(const GroupParameters& p, Outbox* shared = nullptr);

  GroupParameters parameters;
  Statistics statistics;
  std::unique_ptr<Outbox> own_outbox; ///< null when it is shared
  Outbox& outbox;
  CompletionQueue completions;
  PieceNumber next_piece = 0;
  std::unique_ptr<Flight> flight; ///< null on trees of eight ids
  /// Ids whose frames it takes: those of its range, and at a root after `resize` the former ones.
  std::uint32_t kept_ids;

  /// Sets the group's parameters from now on.
  void move_to(const GroupParameters& p);
  /// Uses the first `ids` ids of the range from now on. Requires that no piece is in flight, and no
  /// completion waits.
  void resize(std::uint32_t ids);

  [[nodiscard]] std::size_t tree_count() const { return parameters.tree_count(); }
  [[nodiscard]] ReductionId id_of(PieceNumber piece) const {
    return id_at(reduction_of(piece, parameters.slots).value);
  }
  /// The place of an id in the range, from 0: state of reductions is stored by place.
  [[nodiscard]] std::size_t place_of(ReductionId id) const {
    return std::size_t{id.value} - parameters.first_id.value;
  }
  [[nodiscard]] ReductionId id_at(std::size_t place) const {
    return ReductionId{static_cast<std::uint8_t>(parameters.first_id.value + place)};
  }
  /// The place of a piece in the range.
  [[nodiscard]] std::size_t place_of_piece(PieceNumber piece) const {
    return static_cast<std::size_t>(piece) & (parameters.slots - 1);
  }
  /// Whether the window and the outbox have room for another piece.
  [[nodiscard]] bool has_room() const {
    return flight == nullptr || (flight->has_room() && outbox.room() >= tree_count());
  }
  /// Calls `f(id)` for all ids whose piece may be in flight.
  template <typename F> void for_each_in_flight(F&& f) const {
    if (flight == nullptr) {
      for (std::size_t place = 0; place < parameters.slots; ++place) {
        f(id_at(place));
      }
      return;
    }
    for (PieceNumber piece = flight->oldest(); piece < flight->next(); ++piece) {
      f(id_of(piece));
    }
  }
  /// Begins and ends a piece of this member. After `end` the outbox holds no pointer to the piece's
  /// memory, unless the outbox is shared: then its owner keeps the memory of all vectors, and
  /// several members may contribute the same.
  void begin(PieceNumber piece, TimeNs now, bool others_waited = false) {
    if (flight != nullptr) {
      flight->begin(piece, now, others_waited);
    }
  }
  void end(PieceNumber piece, const WideOperand& own, TimeNs now) {
    if (flight != nullptr) {
      flight->end(piece, now);
    }
    if (own_outbox != nullptr && own.is_wide() && own.in != nullptr && !outbox.empty()) {
      outbox.drop(id_of(piece), own.in);
    }
  }
  /// Notes that the piece was asked for again.
  void asked(PieceNumber piece, TimeNs now) {
    if (flight != nullptr) {
      flight->asked(piece, now);
    }
  }
  /// When to ask for it because a later one has completed; `never` without such a sign of loss.
  [[nodiscard]] TimeNs overdue_at(ReductionId id) const {
    return flight == nullptr ? never : flight->overdue_at(place_of(id));
  }

  /// Puts one frame for one tree into the outbox, or counts that it was full.
  void send(TreeIndex tree, ReductionId id, const wire::ReductionWord& word,
            const wire::Payload& payload, std::uint64_t signature = 0);
  /// The same with a vector, which stays where it is until the frame has left.
  void send(TreeIndex tree, ReductionId id, const wire::ReductionWord& word,
            const WideOperand& vector, std::uint64_t signature = 0);
  /// The same for every tree of the group.
  void send_on_all(ReductionId id, const wire::ReductionWord& word, const wire::Payload& payload,
                   std::uint64_t signature = 0);
  void send_on_all(ReductionId id, const wire::ReductionWord& word, const WideOperand& vector,
                   std::uint64_t signature = 0);
  /// The tree on which a frame arrived, if it bears the group's VNI and cookie, a known opcode and
  /// an id that it has state of, and is not one of this host's own; otherwise nullopt, and it is
  /// counted. `in_switch`: frames with an arm bear this host's address where the switch made them.
  [[nodiscard]] std::optional<TreeIndex> admit(const wire::ReductionFrame& frame,
                                               bool in_switch = false);
  /// Hands a finished piece to its owner.
  void complete(const Completion& completion);

private:
  /// What all frames of this member on a tree have in common, stored in front of the payload.
  using Header = std::array<std::byte, wire::wide_header_bytes>;
  void prepare_headers();
  /// The same as fields of a frame.
  template <typename Frame>
  [[nodiscard]] Frame header(TreeIndex tree, ReductionId id, const wire::ReductionWord& word,
                             std::uint64_t signature) const;

  std::array<Header, 2> headers_; ///< by tree; of 84-byte frames
};

} // namespace tributary::collective
