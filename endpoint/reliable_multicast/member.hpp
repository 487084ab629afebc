// A member of a group that multicasts: broadcast and allgather; or of one whose members get results
// of their own: reduce-scatter, and reduce (pieces.cpp). Members send chunks in shared
// frames (tributary/wire/shared.hpp) and say which ones they have in a reduction: the AND of all
// bitmaps of a window. Its result tells every sender what is missing anywhere, and it is the clock
// of the senders. One frame a link, whatever the number of members. Pure: frames and times in,
// frames out.
//
// How to drive it:
//
//   1. Member member(parameters);       throws std::invalid_argument on faulty parameters
//   2. member.start(operation, now);    the same operations in the same order at every member
//   3. for each frame that arrives:     member.receive(frame, now);
//   4. no later than next_deadline():   member.poll(now);
//   5. while (has_to_send()):           take_frame(room), and send it
//   6. operation.finished()             its memory is the caller's again
//
// It may end once is_complete(); a root stays to answer requests until its ids are another group's.
//
// Windows. The chunks of all calls fill windows of K chunks (operation.hpp), numbered from 0 for
// the life of the group. S of them are in flight (slot.hpp).
//
//   event                                  does
//   data of w, open                        stores it unless it is here
//   data of w, absent                      keeps it, if there is memory
//   data of w + S                          w, full and acknowledged, is complete: its sender has
//                                            the result
//   an id is armed (any frame from above   acknowledges, once for each sequence: when the window is
//     with arm, newer sequence)              full; when all that is missing was overtaken; when
//                                            nothing new came for `gap`, which then doubles (8
//                                            times as long while nothing of w has come at all)
//   result of w, all ones                  complete; w + S may open
//   result of w with holes                 sends its own among them again, in order, the last one
//                                            twice; the next sequence is armed already
//
// Overtaken. Links are FIFO. Before the first result of a window: a first transmission of the same
// owner with a larger (window, chunk) is here. After it: one that was sent again because of this
// result, with a larger chunk. With twin trees chunk c of the i-th transmission takes tree (c + i)
// mod 2, so only chunks of equal parity overtake each other.
//
// An acknowledgement needs no reliability of its own: bitmaps only grow, AND is idempotent, and
// every round repeats the whole state. A lost arm, acknowledgement or result is a lost round.
//
//   lost                          healed by
//   data                          holes in the next result
//   an arm, an acknowledgement    the root's timer: max(retry, 4 x smoothed time of a window),
//                                   doubling; the question carries the last result
//   a result, at a leaf           the same, or data of w + S, or the leaf's request after 4 timers
//   a result, at the root         the switch that keeps it (root_in_switch.cpp)
//   a result that is kept nowhere leaves acknowledge the window before again, as full
//
// A retry of the root restarts no gap, or a window whose last chunks were lost would wait forever;
// windows with a timer, a hole or a retry do not enter the smoothed time, or each time-out would
// lengthen the next.
//
// Return. A receiver's call has finished with a window when it is full and acknowledged as full. A
// sender's, when it is complete; or, if all that it has sent and that is not acknowledged is at
// most `eager_bytes`, when that is copied. From then on `receive` and `poll` acknowledge and send
// again.
//
// Hostile members. A frame counts if its cookie is the group's, its rank has the NID that it
// bears, the rank owns the chunk, and the length is the chunk's; else it is counted and dropped. So
// a member can withhold its chunks, and say that it has what it has not, or the reverse: that costs
// itself data, or all members time, and is named (verdict.hpp); it gives no member a wrong byte of
// another's.
//
// Allocates a slot's memory with its first use, and nothing else after construction. One thread at
// a time. Files: member.cpp, data.cpp, pieces.cpp, acknowledging.cpp (every member), rounds.cpp
// (the root).
#pragma once

#include "endpoint/collective/channel.hpp"
#include "endpoint/collective/received_frame.hpp"
#include "endpoint/collective/roll_call.hpp"
#include "endpoint/collective/signature.hpp"
#include "endpoint/reliable_multicast/operation.hpp"
#include "endpoint/reliable_multicast/parameters.hpp"
#include "endpoint/reliable_multicast/slot.hpp"
#include "endpoint/reliable_multicast/statistics.hpp"
#include "endpoint/reliable_multicast/verdict.hpp"
#include "tributary/wire/shared.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tributary::reliable_multicast {

/// The retry of a window that asks past the engines who lacks what, and the number of results with
/// holes after which it does so.
inline constexpr std::uint32_t first_roll_call = 5;
inline constexpr std::uint32_t holes_before_roll_call = 16;
/// Roll calls that must have had their time before a member time-out ends the group.
inline constexpr std::uint32_t roll_calls_before_the_end = 2;
/// In the remote offset of the root's question: each member answers it by itself, past the engines.
inline constexpr std::uint64_t calls_roll = 2;
/// How often a result that does not include each member once is asked for again at once.
inline constexpr std::uint32_t immediate_retries = 16;
/// Factor of the gap while nothing of a window has come.
inline constexpr std::uint64_t gap_before_data = 8;

/// What the oldest window that is not complete waits for.
struct Status {
  WindowState state = WindowState::absent; ///< absent: nothing is under way
  std::uint64_t window = 0;
  TimeNs since;              ///< when it opened
  std::uint32_t missing = 0; ///< chunks that are not here
  std::uint32_t owner = 0;   ///< of the first of them
  bool is_armed = false;     ///< whether this member may acknowledge, or has
  std::uint32_t retries = 0; ///< at the root
};

class Member {
public:
  explicit Member(const Parameters& parameters);

  /// Begins a call. Requires that the group has not failed.
  void start(Operation& operation, TimeNs now);
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }

  /// Takes any bytes; what is not this group's is counted and ignored. False if it is neither a
  /// shared frame nor one of 84 bytes that the group could have.
  bool receive(std::span<const std::byte> frame, TimeNs now);
  /// Does what is due.
  void poll(TimeNs now);
  /// When `poll` has something to do; `never` when nothing is due.
  [[nodiscard]] TimeNs next_deadline() const;

  [[nodiscard]] bool has_to_send() const;
  /// The most bytes that the frame has which `take_frame` would return. Requires `has_to_send()`.
  [[nodiscard]] std::size_t next_frame_bytes() const;
  /// A frame: what was written, and what follows it in the memory of the call.
  struct Begun {
    std::size_t bytes = 0;
    std::span<const std::byte> rest{};
  };
  /// The next frame, in `room` of `next_frame_bytes()`: acknowledgements first, then what is sent
  /// again, then new chunks. Requires `has_to_send()`.
  Begun take_frame(std::byte* room);

  /// Whether every operation has finished.
  [[nodiscard]] bool is_idle() const { return unfinished_ == 0; }
  /// Whether all members have all that was sent, as far as this one knows.
  [[nodiscard]] bool is_complete() const;
  /// Moves to other trees, with the same members, root and ids.
  void move_to(const collective::GroupParameters& group, TimeNs now);

  /// Why the group has ended, if it has. Operations that have not finished never will, and are
  /// their callers' again.
  [[nodiscard]] const std::optional<Verdict>& failure() const { return failure_; }
  /// Whom the group waits for, as far as it is known: it may yet continue.
  [[nodiscard]] const std::optional<Verdict>& suspicion() const { return suspicion_; }
  /// Ends the group. The root notifies the others.
  void fail(const Verdict& verdict, TimeNs now);

  [[nodiscard]] Statistics statistics() const;
  [[nodiscard]] Status status() const;
  [[nodiscard]] bool is_root() const { return channel_.parameters.is_root(); }
  /// Windows that were complete here.
  [[nodiscard]] std::uint64_t windows() const { return statistics_.windows; }
  /// Smoothed time from opening a window to its completion; 0 before the first.
  [[nodiscard]] std::uint64_t window_ns() const { return window_ns_; }

private:
  // member.cpp
  [[nodiscard]] std::size_t place_of(const Slot& slot) const {
    return static_cast<std::size_t>(slot.window & (slots_.size() - 1));
  }
  [[nodiscard]] ReductionId id_of(const Slot& slot) const { return channel_.id_at(place_of(slot)); }
  [[nodiscard]] Slot& slot_of(std::uint64_t window) {
    return slots_[static_cast<std::size_t>(window & (slots_.size() - 1))];
  }
  void open_windows(TimeNs now);
  void open(Slot& slot, Operation& operation, TimeNs now);
  void complete(Slot& slot, TimeNs now);
  /// The call needs the window no longer.
  void detach(Slot& slot);
  /// Detaches the windows of a call that it does not need any more.
  void settle(Operation& operation);
  [[nodiscard]] bool may_copy_rest(const Operation& operation) const;
  [[nodiscard]] bool has_memory(Slot& slot) const;
  [[nodiscard]] std::byte* memory_of(const Slot& slot, std::uint32_t chunk) const {
    return slot.memory.get() + std::size_t{chunk} * parameters_.chunk_bytes;
  }
  /// The slot whose window is the oldest for which `f(slot)` is true; null if none is.
  template <typename F> [[nodiscard]] Slot* oldest(F&& f);

  // data.cpp
  void receive_data(const wire::SharedFrame& frame, std::span<const std::byte> bytes, TimeNs now);
  [[nodiscard]] bool admits(const wire::SharedFrame& frame);
  void keep(Slot& slot, const wire::SharedFrame& frame, std::span<const std::byte> bytes);
  void take(Slot& slot, const wire::SharedFrame& frame, std::span<const std::byte> bytes,
            TimeNs now);
  /// Notes what a chunk of `rank` has overtaken that was sent in this round.
  void mark_lost(Slot& slot, std::uint8_t round, std::uint32_t rank, std::uint64_t window,
                 std::uint32_t chunk) const;
  Begun write_chunk(const Slot& slot, std::uint32_t chunk, std::uint8_t round,
                    std::uint32_t transmission, std::byte* room) const;

  // pieces.cpp
  [[nodiscard]] ReductionId id_of_piece(const Slot& slot, std::uint32_t piece) const;
  [[nodiscard]] std::uint64_t number_of_piece(const Slot& slot, std::uint32_t piece) const {
    return slot.window * parameters_.window_chunks + piece;
  }
  /// Whether it is a frame of a piece: it is then taken, or counted.
  bool receive_piece(const collective::ReceivedFrame& read, TimeNs now);
  void hear_pieces(Slot& slot, std::uint64_t window, const ChunkSet& pieces,
                   SequenceNumber sequence, TimeNs now);
  void open_pieces(Slot& slot, const ChunkSet& pieces);
  void take_piece(Slot& slot, std::uint32_t piece, const collective::ReceivedFrame& read,
                  TimeNs now);
  Begun write_contribution(Slot& slot, std::uint32_t piece, std::byte* room);
  /// The root: opens these pieces of the window for another sequence.
  void arm_pieces(Slot& slot, const ChunkSet& pieces, TimeNs now);

  // acknowledging.cpp
  void receive_from_above(const wire::ReductionFrame& frame, collective::TreeIndex tree,
                          TimeNs now);
  void hear(Slot& slot, SequenceNumber sequence, collective::TreeIndex tree, TimeNs now);
  [[nodiscard]] bool believes(const Slot& slot, SequenceNumber sequence, collective::TreeIndex tree,
                              TimeNs now) const;
  /// Whether a question shows that the root waits for the window before this one.
  [[nodiscard]] bool waits_for_former(const Slot& slot, const wire::ReductionFrame& frame) const;
  /// Acknowledges if it is time to.
  void consider(Slot& slot, TimeNs now);
  [[nodiscard]] std::uint64_t least_gap_ns() const {
    return std::max(parameters_.gap_ns, window_ns_);
  }
  /// When nothing new will have come for the gap; `never` if that changes nothing.
  [[nodiscard]] TimeNs gap_ends_at(const Slot& slot) const;
  [[nodiscard]] bool may_acknowledge(const Slot& slot) const;
  /// Sends the bitmap of `window` on the trees that carried the sequence and have had none yet.
  void acknowledge(Slot& slot, std::uint64_t window, const ChunkSet& missing, TimeNs now);
  void hear_roll_call(Slot& slot);
  void answer_roll_call(Slot& slot, bool of_former);
  void send_up(const Slot& slot, collective::TreeIndex tree, std::uint64_t window,
               const wire::Payload& payload);
  void take_result(Slot& slot, const wire::Payload& bits, SequenceNumber resno, TimeNs now);
  /// Whether a result includes every member of one window once; that window, if so.
  [[nodiscard]] std::optional<std::uint64_t>
  window_of_result(const Slot& slot, const wire::Payload& bits, ContributionCount count,
                   std::uint64_t signatures, bool is_signed) const;
  void request_result(Slot& slot, TimeNs now);
  void restart_request(Slot& slot, TimeNs now);
  void take_verdict(const wire::ReductionFrame& frame);
  [[nodiscard]] TimeNs root_missing_at() const;

  // rounds.cpp
  [[nodiscard]] Question& question_of(const Slot& slot) { return questions_[place_of(slot)]; }
  [[nodiscard]] const Question& question_of(const Slot& slot) const {
    return questions_[place_of(slot)];
  }
  void begin_window(Slot& slot, TimeNs now);
  void advance(Question& question, TimeNs now) const;
  void follow(Question& question, SequenceNumber sequence, TimeNs now) const;
  void open_sequence(const Slot& slot, bool arm, bool retry, std::uint64_t flag = 0);
  void hear_own(Slot& slot, TimeNs now);
  void ask(Slot& slot, TimeNs now);
  void retry(Slot& slot, TimeNs now);
  [[nodiscard]] std::uint64_t interval_ns(const Question& question) const;
  static void record(Question& question, const wire::Payload& bits, SequenceNumber resno,
                     ContributionCount count);
  void receive_from_below(const wire::ReductionFrame& frame, collective::TreeIndex tree,
                          TimeNs now);
  void receive_in_switch(const wire::ReductionFrame& frame, TimeNs now);
  void count_in(Slot& slot, collective::TreeIndex tree, const wire::Payload& bits,
                ContributionCount count, std::uint64_t signature, TimeNs now);
  /// The root has the result of a window, and follows the sequence that it opened.
  void finish_round(Slot& slot, const wire::Payload& bits, SequenceNumber resno,
                    std::uint64_t window, TimeNs now);
  void answer_request(Slot& slot, SequenceNumber wanted, TimeNs now);
  void refuse(Slot& slot, TimeNs now);
  void call_roll(Slot& slot, TimeNs now);
  [[nodiscard]] bool is_roll_call_due(const Slot& slot) const;
  [[nodiscard]] bool is_oldest(const Slot& slot) const;
  void hear_roll(Slot& slot, const wire::ReductionFrame& frame, TimeNs now);
  void conclude_roll_call(Slot& slot, TimeNs now);
  void notify(const Slot& slot, const Verdict& verdict);
  void notify_failure(TimeNs now);

  Parameters parameters_;
  collective::Channel channel_;
  Statistics statistics_;
  std::uint64_t signature_base_;
  collective::SignatureSum all_members_;
  std::vector<Nid> nids_; ///< by rank; `unknown_nid`: no frame of it has come
  std::vector<Slot> slots_;
  std::vector<Question> questions_; ///< at the root
  std::uint64_t next_window_ = 0;   ///< the next one to open
  Operation* opening_ = nullptr;    ///< the first one with windows to open
  Operation* newest_ = nullptr;
  std::uint64_t unfinished_ = 0;
  std::uint64_t window_ns_ = 0;
  std::optional<TimeNs> root_heard_at_;
  std::optional<Verdict> failure_;
  std::optional<Verdict> suspicion_;

  // The root's roll call: of one window at a time.
  collective::RollCall roll_call_;
  std::uint64_t heard_in_roll_ = 0; ///< answers to the last one
  std::optional<Verdict> slowest_;  ///< of those that answered
  TimeNs failure_notified_at_;
  TimeNs notify_failure_at_ = never;
  TimeNs notify_failure_until_;
};

} // namespace tributary::reliable_multicast
