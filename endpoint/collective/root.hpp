// The root of a group: it opens sequences, combines what arrives up the tree with its own operand,
// and multicasts the result.
//
// Sequences. Each of the reduction ids has a counter of its own, 0 to 1021. A sequence lives
// from the frame that opens it (its arm) to the frame that opens the next one. Frames count only
// when their resno is the current sequence; all others are stale. A new sequence never equals the
// one of the last result, which the root keeps: so an old result cannot pass for a new one.
//
// Every frame the root sends has the same shape:
//
//   arm    1, or 0 when the engines are to stay out of it
//   retry  0 a fresh result; 1 an arm or retry
//   seqno  the sequence it opens
//   resno, count, op, rc, M, overflow id, data      the last result; before the first one 1023,
//   0...
//
// So whatever was lost, the next frame repairs it: a leaf that misses the result finds it there,
// one that has it sees that its contribution must be sent again under `seqno`.
//
//   event                               does
//   inject, nothing armed yet, or half  opens a sequence (retry frame); what arrived under the old
//     the collective timeout ago        one is void
//     the same, with more than eight      arms the ids of the next pieces, too
//     reductions in flight, and the         (arming_ahead.hpp)
//     piece before is complete
//   inject otherwise                    counts its own operand in; may complete immediately
//   contribution of the current seq.    combined, counted, signatures added
//   count = size, signatures right      completes: opens a sequence with the result frame
//   count = size, signatures wrong;     a member was counted twice: opens a sequence (retry frame),
//     or count > size                   keeping its own operand alone; from the 17th time on, for
//                                       one piece, that is left to the retry timer
//   retry timer                         the same; the interval doubles, up to 32 times the first
//   request for the last result         the same, whether a reduction is in progress or not, and
//                                       not more often than one retry interval
//   request for a sequence that was     the same, while no reduction is in progress: the leaf
//     opened without the last vector      missed that vector
//
// Vectors. A piece that travels in wide frames is gathered by the kernels that switches have
// (tributary/reduce/wide_kernel.hpp), and its result is kept and replayed like any other. Frames
// that do not agree in operator, form or length make the same report as different operators do; it
// is an 84-byte frame. An arm for age alone carries no such result: no leaf waits for it.
//
// With more than eight reductions in flight a piece that is overdue (flight.hpp) is asked for long
// before its retry timer, and a result that a leaf asks for is sent again once in the time that a
// piece takes.
//
// Why a replay opens a new sequence: a frame with the current one would make engines that hold
// contributions to it drop them; a frame without an arm would free their descriptors. A new
// sequence asks every member for its contribution again, which is always safe.
//
// Who is missing. Engines combine contributions and hold what is not complete, and each retry voids
// it; so neither they nor their sums show who is missing. From its `first_roll_call`th retry on
// every second one of the piece that waits longest is a roll call: a retry without arm, which takes
// the engines out and lets every contribution reach the root uncombined (roll_call.hpp). It
// completes like any other if all are there. At the next retry each rank that was not heard is
// missing, and the leaves are notified (notice.hpp). With a member time-out the group then ends,
// once that is over and two roll calls had their time. The `cxi` dialect has no roll calls.
//
// Different counts. Contributions carry the mark of their call (call_mark.hpp). The second refusal
// of a piece is answered with a roll call, too: a member with another mark ends the group, and
// every member is notified whose call differed from the root's. Leaves that send no mark are
// accepted.
//
// A group that ended sends this notice on every reduction id, repeatedly for `leave_grace_ns`, and
// whenever it receives a frame of a leaf.
//
// In the `cxi` dialect an arm or retry carries no result (its peers would take it for a fresh one),
// and a pre-arm with sequence 1022 goes ahead of it.
//
// Leaving. After its last piece every member injects one BARRIER. Its result notifies each leaf
// that all members are done; each answers it with a leave frame, a contribution to the sequence
// that result opened, and has left. The root stays to answer requests until all leave frames
// arrived or `leave_grace_ns` is over; then it releases the engines with an unarmed copy of each
// id's last result. In the `cxi` dialect peers know no such thing, and leaving is just the release.
//
// In-switch results (root_in_switch.cpp): the switch next to the root combines, and sends the
// result to all; the root only arms, asks, answers and ends. It still gathers frames that reach it
// uncombined.
//
// Twin trees (trees.hpp): every sequence is opened on both; contributions are gathered, and found
// complete, on each tree separately.
//
// Files: root.cpp (received frames, and time), root_sequences.cpp, root_gathering.cpp,
// root_roll_call.cpp, root_in_switch.cpp, root_leaving.cpp and root_status.cpp.
//
// No allocation after construction. One thread at a time.
#pragma once

#include "endpoint/collective/arming_ahead.hpp"
#include "endpoint/collective/call_mark.hpp"
#include "endpoint/collective/channel.hpp"
#include "endpoint/collective/failure.hpp"
#include "endpoint/collective/notice.hpp"
#include "endpoint/collective/per_reduction.hpp"
#include "endpoint/collective/roll_call.hpp"
#include "endpoint/collective/root_vectors.hpp"
#include "endpoint/collective/sequence.hpp"
#include "endpoint/collective/signature.hpp"
#include "endpoint/collective/status.hpp"
#include "tributary/reduce/accumulator.hpp"

#include <array>
#include <bitset>
#include <optional>

namespace tributary::collective {

/// How often a refused count is asked for again immediately. Networks that duplicate are repaired
/// within that; members that were set up differently would otherwise keep the whole tree busy.
inline constexpr std::uint32_t immediate_retries = 16;
/// The first retry of a piece that is a roll call: about a second after inject, when frames that
/// were lost have been made up for.
inline constexpr std::uint32_t first_roll_call = 5;
/// The refusal of a piece that is answered with a roll call.
inline constexpr std::uint32_t roll_call_refusal = 2;
/// Number of roll calls that must have had their time before a member time-out ends the group.
inline constexpr std::uint32_t roll_calls_before_the_end = 2;

class Root {
public:
  explicit Root(const GroupParameters& parameters, Outbox* shared = nullptr);

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
  /// Leaves immediately, whatever is in flight, and has the engines forget it. For a caller that
  /// owns all members (a traffic generator): the others of a group would wait.
  void give_up(TimeNs now) { depart(now); }
  [[nodiscard]] bool left() const { return phase_ == Phase::left; }
  [[nodiscard]] bool abandoned() const { return abandoned_; }
  /// Ends the group: nothing completes any more, and the leaves are notified.
  void fail(const Failure& failure, TimeNs now);
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  [[nodiscard]] Status status() const;

  /// The vector of the last result of this id, until its next one completes; none if that was four
  /// words.
  [[nodiscard]] WideView last_vector(ReductionId id) const {
    const WideOperand& last = slots_[channel_.place_of(id)].last_vector;
    return {.form = last.form, .payload = {last.in, last.payload_bytes}};
  }

  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }

private:
  /// Contributions counted under the current sequence.
  struct Gathered {
    /// For a vector only the operator, the code and the first source; or the report that members do
    /// not agree.
    reduce::Accumulator accumulator;
    wire::Form form = wire::Form::words;
    std::uint32_t payload_bytes = 0; ///< length of the vector
    ContributionCount count = 0;
    std::uint64_t signatures = 0;
    std::uint32_t frames = 0;
    ContributionCount largest_frame = 0; ///< contributions in the fullest frame
  };
  struct Slot {
    bool armed = false;    ///< a sequence was opened
    bool arm_void = false; ///< on trees that the group has left
    bool bare = false;     ///< since the last result, a vector, a sequence was opened without it
    SequenceNumber sequence;
    TimeNs armed_at;
    std::array<Gathered, max_group_trees> gathered; ///< by tree

    bool in_progress = false; ///< injected and not completed
    PieceNumber piece = 0;
    Operand own;
    WideOperand vector; ///< its own operand, where it is a vector
    CallMark mark = no_mark;
    TimeNs injected_at;
    bool calls_roll = false; ///< the current sequence is a roll call
    std::uint32_t retries = 0;
    std::uint32_t refused = 0; ///< full counts of this piece that did not include every member
                               ///< exactly once
    std::uint64_t retry_interval_ns = 0;
    TimeNs retry_at = never;
    /// With in-switch results: the sequences this piece was contributed to.
    std::bitset<SequenceNumber::modulus> contributed;
    SequenceNumber refused_result = no_sequence; ///< last refused result of this piece
    std::optional<TimeNs> misses_since; ///< when a leaf first reported that it has this piece's
                                        ///< result
    bool own_counted = false;           ///< its own operand is among what was gathered

    /// The word of the last result, resno and all; count 0 before the first.
    wire::ReductionWord last_result;
    wire::Payload last_payload{};
    WideOperand last_vector; ///< the last result, where it is a vector
    TimeNs asked_at;         ///< the last retry frame, which limits replays
  };
  enum class Phase : std::uint8_t { active, leaving, leave_grace, left };

  // root.cpp
  PieceNumber begin(const Operand& operand, const WideOperand& vector, CallMark mark, TimeNs now);

  // root_sequences.cpp
  /// Takes a new sequence and forgets what was gathered under the old one.
  void advance(Slot& slot, TimeNs now) const;
  /// Opens a new sequence with a retry frame, and counts the root's operand into it. Without the
  /// result it is an arm alone, used where no leaf asks for a result that is a vector.
  void ask(ReductionId id, Slot& slot, TimeNs now, bool with_result = true);
  [[nodiscard]] bool is_to_be_armed(const Slot& slot, TimeNs now) const;
  /// This piece's id has to be armed, and so have those of the pieces after it.
  void arm_ahead(PieceNumber piece, TimeNs now);
  /// The same for a piece that waited too long.
  void ask_again(ReductionId id, Slot& slot, TimeNs now);
  void retry(ReductionId id, Slot& slot, TimeNs now);
  /// Immediately, for contributions are flowing, and so this is no faster than a round trip; the
  /// second time with a roll call, where members mark calls.
  void ask_after_refusal(ReductionId id, Slot& slot, TimeNs now);
  void answer_request(ReductionId id, Slot& slot, SequenceNumber wanted, TimeNs now);
  /// Sends the frame that opens the slot's sequence, on every tree.
  void open_sequence(ReductionId id, const Slot& slot, bool arm, bool retry,
                     bool with_result = true);

  // root_gathering.cpp
  /// Adds one frame to what the slot has gathered on this tree.
  void count_in(ReductionId id, Slot& slot, TreeIndex tree, const Operand& operand,
                const WideView& vector, ContributionCount count, std::uint64_t signature);
  void combine_vector(ReductionId id, Gathered& gathered, TreeIndex tree, const Operand& operand,
                      const WideView& vector);
  /// Counts the root's operand on every tree.
  void count_own(ReductionId id, Slot& slot);
  /// The root's vector in the form of frames.
  [[nodiscard]] WideView own_vector(const WideOperand& vector);
  /// Completes the reduction if every member was counted on this tree, or starts it over if one was
  /// counted twice and no other tree can still complete it.
  void reconcile(ReductionId id, Slot& slot, TreeIndex tree, TimeNs now);
  void reconcile_all(ReductionId id, Slot& slot, TimeNs now);
  [[nodiscard]] bool counts_all_once(const Gathered& gathered, const Slot& slot) const;
  /// Whether a tree lacks contributions to the current sequence.
  [[nodiscard]] bool is_any_tree_short(const Slot& slot) const;
  void finish(ReductionId id, Slot& slot, TreeIndex winner, TimeNs now);
  /// Ends the piece: keeps the result, which is that of `resno`, and hands it to the owner.
  void end_piece(Slot& slot, const Completion& completion, SequenceNumber resno, TimeNs now);
  /// Clears what was in flight at a root that has left, or whose group ended.
  void forget_in_flight(TimeNs now);
  /// Keeps the result that is a vector, and writes it to the owner's memory; returns its code.
  wire::ResultCode keep_vector(ReductionId id, Slot& slot, TreeIndex winner);
  void count_shape(const Gathered& gathered, TreeIndex tree);

  // root_roll_call.cpp
  /// Opens a new sequence without the engines, so that each contribution arrives uncombined.
  void call_roll(ReductionId id, Slot& slot, TimeNs now);
  [[nodiscard]] bool is_roll_call_due(const Slot& slot) const;
  /// The time to answer is over: notifies the leaves which ranks did not, and ends the group if
  /// that has lasted too long.
  void conclude_roll_call(ReductionId id, Slot& slot, TimeNs now);
  /// Notes the rank of an uncombined contribution, and ends the group if it belongs to another
  /// call.
  void hear(const wire::ReductionFrame& frame, const Slot& slot, TimeNs now);
  [[nodiscard]] Call call_of(std::uint32_t rank, CallMark mark) const;
  void notify(ReductionId id, const Notice& notice);
  void notify_failure(TimeNs now);

  // root_in_switch.cpp
  [[nodiscard]] bool is_in_switch() const {
    const GroupParameters& group = channel_.parameters;
    return group.in_switch && group.armed && group.size > 1;
  }
  /// Counts the root's operand for the current sequence, or sends it to the switch that counts.
  void contribute(ReductionId id, Slot& slot);
  void receive_in_switch(const wire::ReductionFrame& frame, TimeNs now, const WideView& vector);
  [[nodiscard]] bool includes_all(const wire::ReductionFrame& frame, PieceNumber piece,
                                  CallMark mark) const;
  [[nodiscard]] static bool has_its_shape(const Slot& slot, const wire::ReductionFrame& frame,
                                          const WideView& vector);
  void hear_of_miss(const wire::ReductionFrame& frame, Slot& slot, TimeNs now);
  void finish_in_switch(const wire::ReductionFrame& frame, Slot& slot, TimeNs now,
                        const WideView& vector);
  void follow(Slot& slot, SequenceNumber sequence, TimeNs now) const;
  void refuse(ReductionId id, Slot& slot, SequenceNumber resno, TimeNs now);
  void release_kept(ReductionId id, SequenceNumber resno);

  // root_leaving.cpp
  void begin_leave_grace(TimeNs now);
  /// Continues after a BARRIER of leaving is complete.
  void leave_further(TimeNs now);
  void count_leave(const wire::ReductionFrame& frame, TreeIndex tree, TimeNs now);
  void depart(TimeNs now);

  // root_status.cpp
  /// The tree with the most contributions; the first one if both are alike.
  [[nodiscard]] TreeIndex fullest_tree(const Slot& slot) const;
  [[nodiscard]] std::optional<std::uint32_t> missing_rank(const Gathered& gathered,
                                                          const Slot& slot) const;

  Channel channel_;
  SignatureSum all_members_;
  RollCall roll_call_;
  std::optional<Failure> failure_;
  TimeNs failure_notified_at_;
  TimeNs notify_failure_at_ = never; ///< when to repeat the notice
  TimeNs notify_failure_until_;
  PerReduction<Slot> slots_;
  ArmingAhead ahead_;
  RootVectors vectors_; ///< for wide frames
  Phase phase_ = Phase::active;
  bool abandoned_ = false;
  TimeNs leaving_ends_ = never;
  PieceNumber leave_piece_ = 0;
  struct LeaveCount {
    ContributionCount count = 0;
    std::uint64_t signatures = 0;
  };
  std::array<LeaveCount, max_group_trees> leave_counts_; ///< by tree
};

} // namespace tributary::collective
