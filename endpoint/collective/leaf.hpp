// A leaf of a group: it contributes to the sequences the root opens, and waits for their results.
//
// Per reduction id it stores the newest sequence the root opened (`heard`), the sequences it
// contributed its current piece to (`contributed`), and the one whose result it completed last.
//
//   state            event                              does
//   idle             inject, heard within the           contributes to `heard` immediately
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
// Which sequences it accepts. A frame that opens an older sequence than `heard`, or the same one,
// was overtaken or duplicated, and is ignored - unless the root was silent for `result_timeout_ns`:
// then the leaf was cut off, the number may have wrapped, and it follows. That is safe, for the
// root counts contributions to its current sequence alone. One number is never contributed to: that
// of the last result completed here, for the root may send that result again, and it would pass for
// the new one.
//
// The request: a frame with count 0, the retry bit, and seqno = resno = the sequence contributed to
// last, up the tree. Engines pass frames that count nothing to the root. The root answers with the
// result if it has it. The first request is sent 4 retry intervals after the contribution, the next
// after twice that, and so on up to `result_timeout_ns`; every contribution restarts the timer but
// keeps the interval, so that a leaf that receives the root's retries soon stops requesting. The
// `cxi` dialect has no requests.
//
// With more than eight reductions in flight a piece that is overdue (flight.hpp) is requested, too,
// long before that timer.
//
// A piece that is a vector is sent from its owner's memory, as often as needed, and its result is
// written there on arrival. A result that does not have the piece's form and length is ignored,
// except the report that members do not agree, which always is an 84-byte frame.
//
// It may also receive a notice (notice.hpp) that names missing ranks, or ends the group. With a
// member time-out, a root that is silent for that long while the leaf waits is missing.
//
// Leaving: the leaf answers the result of the last BARRIER with the leave frame (root.hpp), and has
// left. With twin trees it does so on both, and waits a retry interval for the result on the
// second. If that result does not arrive within `leave_timeout_ns` it leaves all the same: its own
// work is complete.
//
// In-switch results (root_in_switch.cpp): results arrive from the switch next to the root, and
// carry the sum of the signatures. One whose count or sum does not show every member once completes
// nothing: the root sees the same, and asks again. Frames of the root itself, whose remote offset
// is not a sum, are accepted.
//
// A root without the result. On such a tree the root may miss a result that leaves have, and the
// switch that kept it may be new. The root's next question says by its resno which result the root
// has; if that is not the one that completed here last, the leaf
//
//   reports it  sends a request up the tree whose seqno is the question's and whose resno is the
//               result's. It does not send the result itself: the root could not distinguish it
//               from one that a member made up. Not all leaves report at the same time: `reporters`
//               of them answer the first question, and each further one that many times more
//   holds back  contributes its next piece only to a question that knows the result; to this one it
//               would be added to pieces that others still contribute
//
// And it leaves with a second BARRIER, as the root does: the first one's result is reported like
// any other, and the second one ends after `leave_grace_ns`, complete or not.
//
// Twin trees (trees.hpp): what is heard, contributed and completed is stored for the group; only
// which trees carried the newest sequence, and the contribution to it, is stored per tree.
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

/// How many leaves report to a root what it has missed at its first question, and the factor by
/// which their number grows with each further one.
inline constexpr std::uint32_t reporters = 4;

class Leaf {
public:
  explicit Leaf(const GroupParameters& parameters, Outbox* shared = nullptr);

  [[nodiscard]] bool can_inject() const;
  [[nodiscard]] bool is_idle() const;
  PieceNumber inject(const Operand& operand, TimeNs now, CallMark mark = no_mark);
  PieceNumber inject(const WideOperand& vector, TimeNs now, CallMark mark = no_mark);
  /// `vector`: the payload of a wide frame, which `frame` does not have.
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
  [[nodiscard]] PieceNumber newest_piece(ReductionId id) const {
    return slots_[channel_.place_of(id)].piece;
  }

  /// Prefetches the memory that `receive` and `inject` will touch for this reduction, for callers
  /// that serve thousands of leaves in a row.
  void prefetch(ReductionId id) const {
    const auto ask_for = [](const void* at, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch(static_cast<const std::byte*>(at) + i, 1);
      }
    };
    ask_for(&channel_, sizeof channel_);
    ask_for(&slots_[channel_.place_of(id)], sizeof(Slot));
  }

  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }

private:
  enum class State : std::uint8_t { idle, waiting_for_arm, waiting_for_result };
  struct Slot {
    State state = State::idle;
    std::optional<SequenceNumber> heard; ///< the newest, on any tree
    /// The frame that opened it was sent by a root without the result completed here last.
    bool root_lacks_result = false;
    TreeSet heard_on; ///< the trees on which that sequence arrived
    TimeNs heard_at;
    SequenceNumber completed = no_sequence; ///< sequence of the last result completed here
    std::uint32_t asked = 0; ///< how often the root asked since then without having that result

    PieceNumber piece = 0;
    Operand own;
    WideOperand vector; ///< its own piece, where it is a vector
    CallMark mark = no_mark;
    TimeNs injected_at;
    std::bitset<SequenceNumber::modulus> contributed; ///< the sequences this piece was sent under
    SequenceNumber contributed_last = no_sequence;
    TreeSet contributed_last_on;
    std::uint32_t retries = 0;
    std::uint64_t request_interval_ns = 0;
    TimeNs request_at = never;
  };
  /// `leave_grace`: in the second BARRIER, with in-switch results.
  enum class Phase : std::uint8_t { active, leaving, leave_grace, sending_leave, left };

  [[nodiscard]] bool is_result_for(const Slot& slot, const wire::ReductionWord& word,
                                   const WideView& vector) const;
  /// Whether an in-switch result includes every member exactly once.
  [[nodiscard]] bool includes_all(const Slot& slot, const wire::ReductionFrame& frame) const;
  /// Whether a frame that is not a result here shows that the root has missed one.
  [[nodiscard]] bool shows_a_miss(const Slot& slot, const wire::ReductionWord& word) const;
  /// Answers such a frame.
  void report_miss(ReductionId id, Slot& slot);
  void begin_leave_grace(TimeNs now);
  /// Whether to accept a frame that opens `sequence` on this tree.
  [[nodiscard]] bool believes(const Slot& slot, SequenceNumber sequence, TreeIndex tree,
                              TimeNs now) const;
  /// Remembers that a sequence was opened on this tree.
  static void hear(Slot& slot, SequenceNumber sequence, TreeIndex tree, TimeNs now);
  /// Answers a frame that was accepted.
  void answer(const wire::ReductionFrame& frame, Slot& slot, TreeIndex tree, TimeNs now);
  /// Sends the current piece on one tree under the newest sequence, and starts the result timer.
  void contribute(ReductionId id, Slot& slot, TreeIndex tree, TimeNs now);
  void request_result(ReductionId id, Slot& slot, TimeNs now);
  [[nodiscard]] TimeNs overdue_at(ReductionId id, const Slot& slot) const;
  void finish(Slot& slot, const wire::ReductionFrame& frame, const WideView& vector, TimeNs now);
  PieceNumber begin(const Operand& operand, const WideOperand& vector, CallMark mark, TimeNs now);
  void take_notice(const wire::ReductionFrame& frame);
  /// When the root counts as missing if it stays silent until then; `never` while nothing waits.
  [[nodiscard]] TimeNs root_missing_at() const;
  /// Sends the leave frame on every tree that carried the newest sequence and has had none yet.
  void send_leave(ReductionId id, const Slot& slot, TimeNs now);
  void send_up(TreeIndex tree, ReductionId id, SequenceNumber sequence, const Operand& operand,
               const WideOperand& vector, PieceNumber piece, CallMark mark);

  Channel channel_;
  std::uint64_t signature_base_ = 0; ///< 0 when contributions are not signed
  SignatureSum all_members_;         ///< the sum of all members' signatures, for in-switch results
  PerReduction<Slot> slots_;
  Phase phase_ = Phase::active;
  bool abandoned_ = false;
  bool root_understands_marks_ = false;
  std::optional<TimeNs> root_heard_at_;
  MissingRanks missing_;            ///< as of the root's last notice
  std::uint32_t missing_piece_ = 0; ///< the piece of that notice, modulo 2^32
  std::optional<Failure> failure_;
  TimeNs leaving_ends_ = never;
  TreeSet leave_sent_on_;
  PieceNumber leave_piece_ = 0;
};

} // namespace tributary::collective
