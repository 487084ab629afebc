#include "endpoint/collective/vector_pipeline.hpp"

#include "endpoint/collective/piece_codec.hpp"

#include <algorithm>
#include <cassert>

namespace tributary::collective {

VectorOperation::VectorOperation(const VectorTask& task) : task_(task) {
  if (task.op == wire::Opcode::barrier) {
    pieces_ = 1;
    return;
  }
  assert(reduces(task.op, task.type));
  per_piece_ = elements_per_piece(task.op, task.type);
  pieces_ = task.elements / per_piece_ + (task.elements % per_piece_ != 0 ? 1 : 0);
}

std::size_t VectorOperation::elements_in(std::uint64_t piece) const {
  return std::min(per_piece_, task_.elements - first_element(piece));
}

Operand VectorOperation::operand(std::uint64_t piece) const {
  if (task_.op == wire::Opcode::barrier) {
    return {};
  }
  const std::byte* elements =
      task_.in == nullptr ? nullptr : task_.in + first_element(piece) * bytes_of(task_.type);
  return encode_piece(task_.op, task_.type, elements, elements_in(piece));
}

void VectorOperation::take(const Completion& completion) {
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
    decode_piece(completion, task_.type, task_.out + first_element(piece) * bytes_of(task_.type),
                 elements_in(piece));
  }
  rc_ = wire::worse(rc_, completion.rc);
}

void VectorPipeline::start(VectorOperation& operation, TimeNs now) {
  operation.mark_ =
      mark_of({.elements = static_cast<std::uint32_t>(operation.task_.elements),
               .ordinal = static_cast<std::uint8_t>(started_++ % CallShape::leaving)});
  if (operation.finished()) {
    return; // no elements: nothing to send, at no member
  }
  (newest_ == nullptr ? oldest_ : newest_->next_) = &operation;
  newest_ = &operation;
  if (issuing_ == nullptr) {
    issuing_ = &operation;
  }
  pump(now);
}

void VectorPipeline::pump(TimeNs now) {
  // A group of one completes what it injects at once, so both go on until neither moves.
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
    member_->inject(operation.operand(operation.issued_), now, operation.mark_);
    ++operation.issued_;
    if (operation.issued_ == operation.pieces_) {
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
    operation.take(*completion);
    if (operation.finished()) {
      unlink(operation);
    }
    moved = true;
  }
  return moved;
}

VectorOperation& VectorPipeline::owner_of(PieceNumber piece) const {
  // Pieces in flight span at most eight operations, and finished ones are unlinked.
  VectorOperation* operation = oldest_;
  while (piece - operation->first_piece_ >= operation->pieces_) {
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
