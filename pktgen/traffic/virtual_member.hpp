// A member of one virtual group: the endpoint library's own protocol code (`Role` is
// collective::Root or collective::Leaf), and which operations it has in hand.
//
// An operation is a run of pieces (reduce_operands.hpp). At a member it is
//
//   scheduled   a time for it is set
//   released    that time has come: its pieces may be injected, in order, behind those before it
//   begun       its first piece was injected
//   finished    all its pieces have completed here
//
// At most `window` of them are scheduled and not finished. Operations finish in any order; `oldest`
// is the first that has not.
//
// Pure, no allocation after construction. All members of one port share that port's outbox.
#pragma once

#include "endpoint/collective/leaf.hpp"
#include "endpoint/collective/per_reduction.hpp"
#include "endpoint/collective/root.hpp"
#include "pktgen/traffic/reduce_operands.hpp"
#include "tributary/types.hpp"

#include <bit>
#include <cstdint>

namespace tributary::pktgen::traffic {

template <typename Role> class VirtualMember {
public:
  static constexpr std::uint64_t no_end = ~std::uint64_t{0};

  /// `window`: operations at a time.
  VirtualMember(const collective::GroupParameters& parameters, collective::Outbox& outbox,
                std::uint32_t window)
      : role_(parameters, &outbox), rank_(parameters.rank), window_(window),
        mask_(std::bit_ceil(window) - 1), operations_(std::bit_ceil(window)) {}

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] Role& role() { return role_; }
  [[nodiscard]] const Role& role() const { return role_; }

  /// Asks for the memory that a frame of this reduction will touch.
  void prefetch(ReductionId id) const {
    role_.prefetch(id);
    __builtin_prefetch(&rank_, 1);
    __builtin_prefetch(&operations_, 1);
  }

  [[nodiscard]] std::uint64_t oldest() const { return oldest_; }
  [[nodiscard]] std::uint64_t scheduled() const { return scheduled_; }
  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  /// When the operation was meant to begin here. It must be scheduled and not finished.
  [[nodiscard]] TimeNs intended(std::uint64_t operation) const {
    return slot_of(operation).intended;
  }

  /// Whether the next operation may be scheduled.
  [[nodiscard]] bool may_schedule(std::uint64_t end) const {
    return scheduled_ < end && scheduled_ < oldest_ + window_;
  }
  /// Sets the time of the next operation and returns its number.
  std::uint64_t schedule(TimeNs intended, std::uint32_t pieces) {
    const std::uint64_t operation = scheduled_++;
    slot_of(operation) = {.intended = intended, .remaining = pieces};
    return operation;
  }
  /// The operation's time has been reached.
  void release(std::uint64_t operation) { slot_of(operation).released = true; }

  /// Injects pieces as far as the group's limit of frames in flight allows.
  void inject(const ReduceOperands& operands, TimeNs now) {
    while (role_.can_inject()) {
      const ReduceOperands::Place place = operands.place_of(role_.channel().next_piece);
      if (place.first) {
        if (place.operation >= scheduled_ || !slot_of(place.operation).released) {
          return;
        }
        begun_ = place.operation + 1;
      }
      if (operands.is_wide(place.row)) {
        role_.inject(operands.vector(place.row, rank_), now);
      } else {
        role_.inject(operands.operand(place.row, rank_), now);
      }
    }
  }

  /// Takes the pieces that completed. Calls `piece(place, completion)` for each and
  /// `operation(number, intended)` for each operation that is finished by it.
  template <typename OnPiece, typename OnOperation>
  void take_completions(const ReduceOperands& operands, OnPiece&& piece, OnOperation&& operation) {
    collective::CompletionQueue& completions = role_.channel().completions;
    for (; !completions.empty(); completions.pop()) {
      const ReduceOperands::Place place = operands.place_of(completions.oldest().piece);
      piece(place, completions.oldest());
      Operation& own = slot_of(place.operation);
      if (--own.remaining == 0) {
        operation(place.operation, own.intended);
        while (oldest_ < begun_ && slot_of(oldest_).remaining == 0) {
          ++oldest_;
        }
      }
    }
  }
  /// Whether completed pieces are waiting to be taken.
  [[nodiscard]] bool has_completions() const { return !role_.channel().completions.empty(); }

private:
  /// One that is scheduled and not finished.
  struct Operation {
    TimeNs intended;
    std::uint32_t remaining = 0; ///< pieces
    bool released = false;
  };
  [[nodiscard]] Operation& slot_of(std::uint64_t operation) {
    return operations_[operation & mask_];
  }
  [[nodiscard]] const Operation& slot_of(std::uint64_t operation) const {
    return operations_[operation & mask_];
  }

  Role role_;
  std::uint32_t rank_;
  std::uint32_t window_;
  std::uint32_t mask_; ///< of an operation's number: its place below
  std::uint64_t oldest_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t scheduled_ = 0;
  collective::PerReduction<Operation> operations_;
};

} // namespace tributary::pktgen::traffic
