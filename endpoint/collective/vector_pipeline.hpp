// Reductions of vectors of any length, cut into pieces (vector_cut.hpp), of which as many are in
// flight as the group allows; they finish in any order. Several operations may be outstanding;
// their pieces are numbered in the order in which the operations were started, which must be the
// same at every member.
//
//   Member member(parameters);
//   VectorPipeline pipeline(member);
//   VectorOperation sum({.op = Opcode::int_sum, .type = ElementType::int64,
//                        .in = values, .out = sums, .elements = 1000});
//   pipeline.start(sum, now);
//   while (!sum.finished()) { ...member.receive/poll as frames and time arrive...
//                             pipeline.pump(now); ...send the outbox... }
//
// Pure, as the member is. The caller owns the operations and their buffers and keeps them until
// they have finished; the pipeline links them and allocates nothing after its construction. `in`
// and `out` may be the same buffer, and are not otherwise to overlap. One thread at a time.
//
// In wide frames elements are copied directly from `in` to the frame and from the frame to `out`;
// only those that are converted (wide_codec.hpp) have a buffer here for each reduction.
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "endpoint/collective/member.hpp"
#include "endpoint/collective/vector_cut.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tributary::collective {

/// A task to reduce. A BARRIER has no type, no buffers and no elements.
struct VectorTask {
  wire::Opcode op = wire::Opcode::barrier;
  ElementType type = ElementType::uint64;
  const std::byte* in = nullptr; ///< null contributes the operator's identity
  std::byte* out = nullptr;      ///< null discards the result
  std::size_t elements = 0;
};

class VectorOperation {
public:
  /// Requires a BARRIER, or `reduces_in` a group of frames of this payload.
  explicit VectorOperation(const VectorTask& task, std::size_t payload = sizeof(wire::Payload));
  VectorOperation(const VectorOperation&) = delete;
  VectorOperation& operator=(const VectorOperation&) = delete;

  [[nodiscard]] bool finished() const { return done_ == cut_.pieces; }
  /// The worst code of all pieces. With op_mismatch `out` is incomplete.
  [[nodiscard]] wire::ResultCode rc() const { return rc_; }
  /// With op_mismatch: a member whose operator was taken for the group's, and one that differed.
  [[nodiscard]] Nid first_source() const { return first_source_; }
  [[nodiscard]] Nid offending_source() const { return offending_source_; }
  [[nodiscard]] const VectorTask& task() const { return task_; }
  [[nodiscard]] std::uint64_t pieces() const { return cut_.pieces; }
  [[nodiscard]] std::uint64_t pieces_done() const { return done_; }

private:
  friend class VectorPipeline;

  [[nodiscard]] std::size_t first_element(std::uint64_t piece) const {
    return static_cast<std::size_t>(piece) * cut_.elements_per_piece;
  }
  [[nodiscard]] std::size_t elements_in(std::uint64_t piece) const;
  [[nodiscard]] Operand operand(std::uint64_t piece) const;
  /// The same for a wide piece; `converted` receives elements that have to be converted.
  [[nodiscard]] WideOperand vector(std::uint64_t piece, std::byte* converted) const;
  void take(const Completion& completion, const std::byte* converted);

  VectorTask task_;
  VectorCut cut_;
  std::uint64_t issued_ = 0;
  std::uint64_t done_ = 0;
  CallMark mark_ = no_mark;
  PieceNumber first_piece_ = 0; ///< in the group's numbering, once issued_ > 0
  wire::ResultCode rc_ = wire::ResultCode::success;
  Nid first_source_;
  Nid offending_source_;
  VectorOperation* next_ = nullptr;
};

class VectorPipeline {
public:
  explicit VectorPipeline(Member& member);

  /// Appends an operation to all others, and pumps.
  void start(VectorOperation& operation, TimeNs now);
  /// Injects as many pieces as possible and gathers the finished ones. To be called after frames
  /// were received or the member polled.
  void pump(TimeNs now);
  /// Forgets the operations that have not finished: they never will, and belong to their owner
  /// again.
  void abandon() { oldest_ = newest_ = issuing_ = nullptr; }
  /// Whether every started operation has finished.
  [[nodiscard]] bool is_idle() const { return oldest_ == nullptr; }

private:
  bool inject(TimeNs now);
  bool gather();
  /// The unfinished operation of a piece in flight.
  [[nodiscard]] VectorOperation& owner_of(PieceNumber piece) const;
  void unlink(VectorOperation& operation);
  /// Where the elements of this piece are converted; null in a group of frames of 32 bytes.
  [[nodiscard]] std::byte* converted(PieceNumber piece) const;

  Member* member_;
  VectorOperation* oldest_ = nullptr; ///< unfinished operations in the order of their start
  VectorOperation* newest_ = nullptr;
  VectorOperation* issuing_ = nullptr; ///< the first one with pieces yet to inject
  std::uint64_t started_ = 0;          ///< operations, including those without elements
  std::unique_ptr<std::byte[]> converted_;
};

} // namespace tributary::collective
