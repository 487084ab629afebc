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
// At most `window` of them, at most eight, are scheduled and not finished. Operations finish in any
// order; `oldest` is the first that has not.
//
// Pure, no allocation after construction. All members of one port share that port's outbox.
#pragma once

#include "endpoint/collective/leaf.hpp"
#include "endpoint/collective/root.hpp"
#include "pktgen/traffic/reduce_operands.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstdint>

namespace tributary::pktgen::traffic {

template <typename Role> class VirtualMember {
public:
  static constexpr std::uint64_t no_end = ~std::uint64_t{0};

  VirtualMember(const collective::GroupParameters& parameters, collective::Outbox& outbox)
      : role_(parameters, &outbox), rank_(parameters.rank) {}

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] Role& role() { return role_; }
  [[nodiscard]] const Role& role() const { return role_; }

  /// Asks for the memory that a frame of this reduction will touch.
  void prefetch(ReductionId id) const {
    role_.prefetch(id);
    __builtin_prefetch(&rank_, 1);
    __builtin_prefetch(&remaining_, 1);
    __builtin_prefetch(&intended_, 1);
  }

  [[nodiscard]] std::uint64_t oldest() const { return oldest_; }
  [[nodiscard]] std::uint64_t scheduled() const { return scheduled_; }
  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  /// When the operation was meant to begin here. It must be scheduled and not finished.
  [[nodiscard]] TimeNs intended(std::uint64_t operation) const {
    return intended_[operation % intended_.size()];
  }

  /// Whether the next operation may be scheduled.
  [[nodiscard]] bool may_schedule(std::uint32_t window, std::uint64_t end) const {
    return scheduled_ < end && scheduled_ < oldest_ + window;
  }
  /// Sets the time of the next operation and says its number.
  std::uint64_t schedule(TimeNs intended, std::uint32_t pieces) {
    const std::uint64_t operation = scheduled_++;
    const std::size_t slot = operation % intended_.size();
    intended_[slot] = intended;
    remaining_[slot] = pieces;
    return operation;
  }
  /// Its time has come.
  void release(std::uint64_t operation) {
    released_ = static_cast<std::uint8_t>(released_ | 1U << operation % intended_.size());
  }

  /// Injects what may be injected. Puts at most eight frames into the outbox.
  void inject(const ReduceOperands& operands, TimeNs now) {
    while (role_.can_inject()) {
      const ReduceOperands::Place place = operands.place_of(role_.channel().next_piece);
      const unsigned bit = 1U << place.operation % intended_.size();
      if (place.first) {
        if (place.operation >= scheduled_ || (released_ & bit) == 0) {
          return;
        }
        released_ = static_cast<std::uint8_t>(released_ & ~bit);
        begun_ = place.operation + 1;
      }
      role_.inject(operands.operand(place.row, rank_), now);
    }
  }

  /// Takes the pieces that completed. Calls `piece(place, completion)` for each and
  /// `operation(number, intended)` for each operation that is finished by it.
  template <typename OnPiece, typename OnOperation>
  void take_completions(const ReduceOperands& operands, OnPiece&& piece, OnOperation&& operation) {
    while (const auto completion = role_.channel().completions.take()) {
      const ReduceOperands::Place place = operands.place_of(completion->piece);
      piece(place, *completion);
      const std::size_t slot = place.operation % intended_.size();
      if (--remaining_[slot] == 0) {
        operation(place.operation, intended_[slot]);
        while (oldest_ < begun_ && remaining_[oldest_ % remaining_.size()] == 0) {
          ++oldest_;
        }
      }
    }
  }

private:
  Role role_;
  std::uint32_t rank_;
  std::uint8_t released_ = 0; ///< by operation modulo 8
  std::uint64_t oldest_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t scheduled_ = 0;
  std::array<std::uint32_t, reductions_per_tree> remaining_{};
  std::array<TimeNs, reductions_per_tree> intended_{};
};

} // namespace tributary::pktgen::traffic
