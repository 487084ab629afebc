// A member of a reduction group: the root if its rank is the root rank, else a leaf. Pure: frames
// and times in, frames and completions out. It reads no clock, opens no socket, and allocates
// nothing after construction.
//
// How to drive it:
//
//   1. Member member(parameters);            throws std::invalid_argument on faulty parameters
//   2. while (member.can_inject()) member.inject(operand, now);
//   3. for each frame that arrives:          member.receive(frame, now);
//   4. no later than next_deadline():        member.poll(now);
//   5. after each of 2, 3, 4, 7:             send and pop what is in outbox()
//   6.                                       take_completion() until it returns nullopt
//   7. at the end: member.leave(now), then continue with 3 to 5 until left().
//
// With `twin` in its parameters it reduces on two trees at the same time (trees.hpp); it is driven
// in the same way, except that frames of both trees are handed in.
//
// All members must inject the same operators in the same order. Up to eight pieces are in flight,
// or as many as the group has slots and the window allows (flight.hpp); they finish in any order;
// with n slots piece k + n may begin once piece k's completion was taken. Groups that share a tree
// have ranges of its ids that do not overlap, and cookies of their own. Times must not run
// backwards. A member belongs to one thread at a time.
//
// The rules are in root.hpp and leaf.hpp, with an explanation in docs/protocol/collective.md.
#pragma once

#include "endpoint/collective/call_mark.hpp"
#include "endpoint/collective/failure.hpp"
#include "endpoint/collective/group_parameters.hpp"
#include "endpoint/collective/leaf.hpp"
#include "endpoint/collective/outbox.hpp"
#include "endpoint/collective/piece.hpp"
#include "endpoint/collective/root.hpp"
#include "endpoint/collective/statistics.hpp"
#include "endpoint/collective/status.hpp"

#include <optional>
#include <span>
#include <variant>

namespace tributary::collective {

class Member {
public:
  explicit Member(const GroupParameters& parameters);

  /// Whether the next piece may begin: its reduction id is free and the group was not left.
  [[nodiscard]] bool can_inject() const;
  /// Whether no piece is in flight and no completion waits to be taken.
  [[nodiscard]] bool is_idle() const;
  /// Begins the next piece and returns its number. Requires `can_inject()`. `mark`: the call that
  /// the piece belongs to (call_mark.hpp), used where the group marks calls.
  PieceNumber inject(const Operand& operand, TimeNs now, CallMark mark = no_mark);
  /// The same with a vector, in a group whose frames may be wide. Requires that
  /// `vector.payload_bytes` is at most the group's `payload`.
  PieceNumber inject(const WideOperand& vector, TimeNs now, CallMark mark = no_mark);
  /// The number the next piece will have.
  [[nodiscard]] PieceNumber next_piece() const;
  /// The oldest completion that was not taken yet.
  std::optional<Completion> take_completion();

  /// Takes any bytes; what is not this group's is counted and ignored. False if it is not a
  /// reduction frame that the group could have.
  bool receive(std::span<const std::byte> frame, TimeNs now);
  /// The same for a frame that was decoded already.
  void receive(const wire::ReductionFrame& frame, TimeNs now);
  /// Does what is due.
  void poll(TimeNs now);
  /// When `poll` has something to do; `never` when nothing is due.
  [[nodiscard]] TimeNs next_deadline() const;
  [[nodiscard]] Outbox& outbox();
  [[nodiscard]] const Outbox& outbox() const;

  /// Moves the group to other trees, another VNI or cookie, with the same members and root. All
  /// members must do so, in any order and at any time; what was under way on the old trees is asked
  /// for again on the new ones. Throws std::invalid_argument when the parameters are faulty, or of
  /// another group.
  void move_to(const GroupParameters& parameters, TimeNs now);

  /// Uses only the first `ids` ids of its range from the next piece on. All members do so before
  /// the same piece. The root continues to answer requests for results under the other ids for as
  /// long as frames of these are handed in: until they are another context's. Requires `is_idle()`,
  /// and a power of two that is at most `slots`.
  void resize(std::uint32_t ids);
  /// Ids from the first of the range on whose frames it takes: `slots`, and at a root that was
  /// resized the former ones.
  [[nodiscard]] std::uint32_t kept_ids() const;

  /// Why the group has ended, if it has: a member was missing for the member time-out, members
  /// called with different counts, or the owner called `fail`. Nothing completes any more;
  /// completions that were not taken can be. The only call left is `leave`, which then is over
  /// immediately.
  [[nodiscard]] const std::optional<Failure>& failure() const;
  /// Ends the group. The root notifies the others.
  void fail(const Failure& failure, TimeNs now);

  /// Begins to leave. Requires `is_idle()`, and that the group was not left before.
  void leave(TimeNs now);
  /// Whether leaving is over: the member sends nothing more.
  [[nodiscard]] bool left() const;
  /// Whether leaving ended by its time-out, so that some members may not have left.
  [[nodiscard]] bool abandoned() const;

  [[nodiscard]] const GroupParameters& parameters() const;
  [[nodiscard]] const Statistics& statistics() const;
  /// Cold: may search all ranks for the one that is missing.
  [[nodiscard]] Status status() const;
  [[nodiscard]] bool is_root() const { return std::holds_alternative<Root>(role_); }

private:
  std::variant<Root, Leaf> role_;
};

} // namespace tributary::collective
