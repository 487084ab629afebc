// A leaf of a group: it contributes to the sequences the root opens, and waits for their results.
//
// Per reduction id it remembers the newest sequence the root opened (`heard`), the sequences it
// contributed its current piece to (`contributed`), and the one whose result it completed last.
//
//   state            event                              does
//   idle             inject, heard within the           contributes to `heard` at once
//                      collective timeout
//                    inject otherwise                   waits for an arm
//   waiting for arm  any frame that opens a sequence    contributes to it
//   waiting for      a result, count > 0, whose resno   completes; nothing else completes it
//     the result       is among `contributed`
//                    another frame with the retry bit   contributes the same piece to its seqno
//                    result timer                       requests the result
//   any              a frame that opens a sequence      remembers it
//                    pre-arm (seqno 1022)               nothing
//
// Which sequences are believed. A frame that opens an older sequence than `heard`, or the same one,
// was overtaken or came twice, and is ignored - unless the root was silent for `result_timeout_ns`:
// then the leaf was cut off, the number may have wrapped, and it follows. That is safe, for the
// root counts contributions to its current sequence alone. One number is never contributed to: that
// of the last result completed here, for the root may send that result again, and it would pass for
// the new one.
//
// The request: a frame with count 0, the retry bit, and seqno = resno = the sequence contributed to
// last, up the tree. Engines pass frames that count nothing to the root. The root answers with the
// result if it has it. The first request comes 4 retry intervals after the contribution, then after
// twice that, and so on up to `result_timeout_ns`; every contribution starts the timer anew but
// keeps the interval, so that a leaf which hears the root ask soon stops requesting. The `cxi`
// dialect has no requests.
//
// With more than eight reductions in flight a piece that is overdue (flight.hpp) is requested, too,
// long before that timer.
//
// A piece that is a vector is sent from its owner's memory, as often as it takes, and its result is
// written there when it comes. A result that is not of the piece's form and length is none, but for
// the report that members do not agree, which always is an 84-byte frame.
//
// What else it may hear: a notice (notice.hpp) that says who is missing, or that the group has
// ended. With a member time-out, a root that is silent for so long while the leaf waits is missing.
//
// Leaving: the result of the last BARRIER is answered with the leave frame (root.hpp), and the leaf
// is gone. With twin trees it says so on both, and waits a retry interval for the second to say so
// on. If that result does not come within `leave_timeout_ns` it goes all the same: its own work is
// complete.
//
// Trees that are turned round (root_turned.cpp): results come from the switch next to the root, and
// bear the sum of the signatures. One whose count or sum is not everybody's completes nothing: the
// root sees the same, and asks again. Frames of the root itself, whose remote offset is no sum, are
// believed.
//
// A root without the result. On such a tree the root may miss a result that leaves have, and the
// switch that kept it may be new. The root's next question says by its resno which result the root
// has; if that is not the one that completed here last, the leaf
//
//   reports it  sends a request up the tree whose seqno is the question's and whose resno is the
//               result's. The result itself it does not send: the root could not tell it from one
//               that a member made up. Not all leaves report at once: of each question `reporters`
//               times as many as of the one before, beginning with that many
//   holds back  contributes its next piece only to a question that knows the result; to this one it
//               would be added to pieces that others still contribute
//
// And it leaves with a second BARRIER, as the root does: the first one's result is reported like
// any other, and the second one ends after `linger_ns`, complete or not.
//
// Twin trees (trees.hpp): what is heard, contributed and completed is remembered for the group;
// only on which trees the newest sequence was heard and contributed to is remembered for each.
//
// No allocation after construction. One thread at a time.
#pragma once

#include "endpoint/collective/call_mark.hpp"
#include "endpoint/collective/channel.hpp"
#include "endpoint/collective/failure.hpp"
#include "endpoint/collective/notice.hpp"
#include "endpoint/collective/per_reduction.hpp"
#include "endpoint/collective/sequence.hpp"
#include "endpoint/collective/signature.hpp"
#include "endpoint/collective/status.hpp"

#include <bitset>
#include <optional>

namespace tributary::collective {

/// How many leaves report to a root what it has missed at its first question; each further one is
/// answered by so many times more.
inline constexpr std::uint32_t reporters = 4;

class Leaf {
public:
  explicit Leaf(const GroupParameters& parameters, Outbox* shared = nullptr);

  [[nodiscard]] bool can_inject() const;
  [[nodiscard]] bool is_idle() const;
  PieceNumber inject(const Operand& operand, TimeNs now, CallMark mark = no_mark);
  PieceNumber inject(const WideOperand& vector, TimeNs now, CallMark mark = no_mark);
  /// `vector`: of a wide frame, whose payload `frame` does not have.
  void receive(const wire::ReductionFrame& frame, TimeNs now, const WideView& vector = {});
  void poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const;
  void move_to(const GroupParameters& parameters, TimeNs now);
  void leave(TimeNs now);
  [[nodiscard]] bool left() const { return phase_ == Phase::left; }
  [[nodiscard]] bool abandoned() const { return abandoned_; }
  /// Ends the group for this leaf: nothing completes any more.
  void fail(const Failure& failure);
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  [[nodiscard]] Status status() const;

  /// The newest piece of this id.
  [[nodiscard]] PieceNumber newest_piece(ReductionId id) const { return slots_[id.value].piece; }

  /// Asks for the memory that `receive` and `inject` will touch for this reduction: for those who
  /// serve thousands of leaves in a row.
  void prefetch(ReductionId id) const {
    const auto ask_for = [](const void* at, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch(static_cast<const std::byte*>(at) + i, 1);
      }
    };
    ask_for(&channel_, sizeof channel_);
    ask_for(&slots_[id.value], sizeof(Slot));
  }

  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }

private:
  enum class State : std::uint8_t { idle, waiting_for_arm, waiting_for_result };
  struct Slot {
    State state = State::idle;
    std::optional<SequenceNumber> heard; ///< the newest, on any tree
    /// The frame that opened it came from a root without the result completed here last.
    bool root_lacks_result = false;
    TreeSet heard_on; ///< the trees on which that one was heard
    TimeNs heard_at;
    SequenceNumber completed = no_sequence; ///< of the last result completed here
    std::uint32_t asked = 0; ///< how often the root asked since then without having that

    PieceNumber piece = 0;
    Operand own;
    WideOperand vector; ///< in place of `own`, where it is one
    CallMark mark = no_mark;
    TimeNs injected_at;
    std::bitset<SequenceNumber::modulus> contributed; ///< the sequences this piece was sent under
    SequenceNumber contributed_last = no_sequence;
    TreeSet contributed_last_on;
    std::uint32_t retries = 0;
    std::uint64_t request_interval_ns = 0;
    TimeNs request_at = never;
  };
  /// `lingering`: in the second BARRIER, where the tree is turned round.
  enum class Phase : std::uint8_t { active, leaving, lingering, sending_leave, left };

  [[nodiscard]] bool is_result_for(const Slot& slot, const wire::ReductionWord& word,
                                   const WideView& vector) const;
  /// Of such a result: whether it is made of everybody once.
  [[nodiscard]] bool is_everybodys(const Slot& slot, const wire::ReductionFrame& frame) const;
  /// Of a frame that is no result here: whether it shows that the root has missed one.
  [[nodiscard]] bool shows_a_miss(const Slot& slot, const wire::ReductionWord& word) const;
  /// Answers such a frame.
  void report_miss(ReductionId id, Slot& slot);
  void linger(TimeNs now);
  /// Whether to follow a frame that opens `sequence` on this tree.
  [[nodiscard]] bool believes(const Slot& slot, SequenceNumber sequence, TreeIndex tree,
                              TimeNs now) const;
  /// Remembers that a sequence was opened on this tree.
  static void hear(Slot& slot, SequenceNumber sequence, TreeIndex tree, TimeNs now);
  /// Does what a frame that was believed asks for.
  void answer(const wire::ReductionFrame& frame, Slot& slot, TreeIndex tree, TimeNs now);
  /// Sends the current piece under the sequence heard last on one tree, and starts the result
  /// timer.
  void contribute(ReductionId id, Slot& slot, TreeIndex tree, TimeNs now);
  void request_result(ReductionId id, Slot& slot, TimeNs now);
  [[nodiscard]] TimeNs overdue_at(ReductionId id, const Slot& slot) const;
  void finish(Slot& slot, const wire::ReductionFrame& frame, const WideView& vector, TimeNs now);
  PieceNumber begin(const Operand& operand, const WideOperand& vector, CallMark mark, TimeNs now);
  void take_notice(const wire::ReductionFrame& frame);
  /// When the root is missing, if nothing is heard of it until then; `never` while nothing waits.
  [[nodiscard]] TimeNs root_missing_at() const;
  /// On every tree on which the newest sequence was heard and that was not told yet.
  void send_leave(ReductionId id, const Slot& slot, TimeNs now);
  void send_up(TreeIndex tree, ReductionId id, SequenceNumber sequence, const Operand& operand,
               const WideOperand& vector, PieceNumber piece, CallMark mark);

  Channel channel_;
  std::uint64_t signature_base_ = 0; ///< 0 when contributions are not signed
  SignatureSum everybody_;           ///< where the tree is turned round
  PerReduction<Slot> slots_;
  Phase phase_ = Phase::active;
  bool abandoned_ = false;
  bool root_understands_marks_ = false;
  std::optional<TimeNs> root_heard_at_;
  MissingRanks missing_;            ///< as the root said last
  std::uint32_t missing_piece_ = 0; ///< and for which piece, modulo 2^32
  std::optional<Failure> failure_;
  TimeNs leaving_ends_ = never;
  TreeSet leave_sent_on_;
  PieceNumber leave_piece_ = 0;
};

} // namespace tributary::collective
