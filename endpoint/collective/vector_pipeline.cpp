#include "endpoint/collective/vector_pipeline.hpp"

#include "endpoint/collective/piece_codec.hpp"
#include "endpoint/collective/wide_codec.hpp"

#include <algorithm>
#include <cassert>

namespace tributary::collective {

VectorOperation::VectorOperation(const VectorTask& task, std::size_t payload)
    : task_(task), cut_(VectorCut::of(task.op, task.type, task.elements, payload)) {
  assert(task.op == wire::Opcode::barrier ||
         reduces_in(payload > sizeof(wire::Payload), task.op, task.type));
}

std::size_t VectorOperation::elements_in(std::uint64_t piece) const {
  return std::min(cut_.elements_per_piece, task_.elements - first_element(piece));
}

Operand VectorOperation::operand(std::uint64_t piece) const {
  if (task_.op == wire::Opcode::barrier) {
    return {};
  }
  const std::byte* elements =
      task_.in == nullptr ? nullptr : task_.in + first_element(piece) * bytes_of(task_.type);
  return encode_piece(task_.op, task_.type, elements, elements_in(piece));
}

WideOperand VectorOperation::vector(std::uint64_t piece, std::byte* converted) const {
  const std::size_t elements = elements_in(piece);
  const std::size_t at = first_element(piece) * bytes_of(task_.type);
  WideOperand vector{.op = task_.op,
                     .form = cut_.form,
                     .in = task_.in == nullptr ? nullptr : task_.in + at,
                     .out = task_.out == nullptr ? nullptr : task_.out + at,
                     .bytes = static_cast<std::uint32_t>(elements * wire::element_bytes(cut_.form)),
                     .payload_bytes = cut_.payload_bytes(elements)};
  if (converts(task_.op, task_.type)) {
    if (vector.in != nullptr) {
      encode_elements(task_.op, task_.type, vector.in, elements, converted);
      vector.in = converted;
    }
    vector.out = vector.out == nullptr ? nullptr : converted;
  }
  return vector;
}

void VectorOperation::take(const Completion& completion, const std::byte* converted) {
  ++done_;
  if (completion.rc == wire::ResultCode::op_mismatch) {
    if (rc_ != wire::ResultCode::op_mismatch) {
      first_source_ =
          wire::FabricAddress{static_cast<std::uint32_t>(completion.payload[0] >> 32)}.nid();
      offending_source_ =
          wire::FabricAddress{static_cast<std::uint32_t>(completion.payload[0])}.nid();
    }
  } else if (task_.out != nullptr && task_.op != wire::Opcode::barrier) {
    const std::uint64_t piece = completion.piece - first_piece_;
    std::byte* const out = task_.out + first_element(piece) * bytes_of(task_.type);
    if (!cut_.is_wide()) {
      decode_piece(completion, task_.type, out, elements_in(piece));
    } else if (converts(task_.op, task_.type)) {
      decode_elements(task_.op, task_.type, converted, elements_in(piece), out);
    }
  }
  // Unsigned sums wrap, which is not an error: switches add signed numbers.
  const bool wraps = completion.rc == wire::ResultCode::int_overflow && is_unsigned(task_.type);
  rc_ = wire::worse(rc_, wraps ? wire::ResultCode::success : completion.rc);
}

VectorPipeline::VectorPipeline(Member& member)
    : member_(&member),
      converted_(member.parameters().is_wide()
                     ? std::make_unique_for_overwrite<std::byte[]>(
                           std::size_t{member.parameters().slots} * member.parameters().payload)
                     : nullptr) {}

std::byte* VectorPipeline::converted(PieceNumber piece) const {
  const GroupParameters& group = member_->parameters();
  return converted_ == nullptr ? nullptr : converted_.get() + piece % group.slots * group.payload;
}

void VectorPipeline::start(VectorOperation& operation, TimeNs now) {
  operation.mark_ =
      mark_of({.elements = static_cast<std::uint32_t>(operation.task_.elements),
               .ordinal = static_cast<std::uint8_t>(started_++ % CallShape::leaving)});
  if (operation.finished()) {
    return; // no elements: no member sends anything
  }
  (newest_ == nullptr ? oldest_ : newest_->next_) = &operation;
  newest_ = &operation;
  if (issuing_ == nullptr) {
    issuing_ = &operation;
  }
  pump(now);
}

void VectorPipeline::pump(TimeNs now) {
  // A group of one completes what it injects immediately, so both continue until neither moves.
  bool moved = true;
  while (moved) {
    const bool gathered = gather();
    moved = inject(now) || gathered;
  }
}

bool VectorPipeline::inject(TimeNs now) {
  bool moved = false;
  while (issuing_ != nullptr && member_->can_inject()) {
    VectorOperation& operation = *issuing_;
    if (operation.issued_ == 0) {
      operation.first_piece_ = member_->next_piece();
    }
    if (operation.cut_.is_wide()) {
      member_->inject(operation.vector(operation.issued_, converted(member_->next_piece())), now,
                      operation.mark_);
    } else {
      member_->inject(operation.operand(operation.issued_), now, operation.mark_);
    }
    ++operation.issued_;
    if (operation.issued_ == operation.pieces()) {
      issuing_ = operation.next_;
    }
    moved = true;
  }
  return moved;
}

bool VectorPipeline::gather() {
  bool moved = false;
  while (const auto completion = member_->take_completion()) {
    VectorOperation& operation = owner_of(completion->piece);
    operation.take(*completion, converted(completion->piece));
    if (operation.finished()) {
      unlink(operation);
    }
    moved = true;
  }
  return moved;
}

VectorOperation& VectorPipeline::owner_of(PieceNumber piece) const {
  // Pieces in flight span at most as many operations, and finished ones are unlinked.
  VectorOperation* operation = oldest_;
  while (piece - operation->first_piece_ >= operation->pieces()) {
    operation = operation->next_;
    assert(operation != nullptr);
  }
  return *operation;
}

void VectorPipeline::unlink(VectorOperation& operation) {
  VectorOperation* before = nullptr;
  for (VectorOperation* o = oldest_; o != &operation; o = o->next_) {
    before = o;
  }
  (before == nullptr ? oldest_ : before->next_) = operation.next_;
  if (newest_ == &operation) {
    newest_ = before;
  }
  operation.next_ = nullptr;
}

} // namespace tributary::collective
