// Windows that are reduced: each member contributes to each piece, and its owner alone gets the
// result (bit 62 of its contribution: docs/protocol/engine.md). Windows, and what says which
// results are here, are those of multicasts; the ids of pieces are their own.
//
//   event                                does
//   the root opens a window              arms its pieces with one frame that names the window
//                                          (tributary/wire/arm_set.hpp)
//   pieces of w are armed, newer         contributes to each of them, in their order
//     sequence
//   the same of w + S, and w is          w is complete: the root has its result
//     acknowledged as full
//   result of an own piece, of the       stores it. Own pieces complete nearly in their order, so
//     sequence contributed to              earlier ones of the same sequence are lost if not here
//   acknowledgement with holes           the root arms those pieces again, for another sequence
//
// A result counts if it includes every member once, by its count and the sum of the signatures, and
// is of the sequence that this member contributed to. A call needs its operands until its windows
// are complete.
//
// Only on trees with in-switch results: the switch next to the root adds all contributions, and the
// root is a member as any other.
#include "endpoint/reliable_multicast/member.hpp"

#include "endpoint/collective/wide_codec.hpp"
#include "tributary/wire/arm_set.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <cstring>
#include <utility>

namespace tributary::reliable_multicast {

namespace {

wire::Opcode op_of(const CallShape& call) { return static_cast<wire::Opcode>(call.op); }
collective::ElementType type_of(const CallShape& call) {
  return static_cast<collective::ElementType>(call.type);
}
bool converts(const CallShape& call) { return collective::converts(op_of(call), type_of(call)); }
std::size_t elements_of(const CallShape& call, const Chunk& chunk) {
  return chunk.bytes / collective::bytes_of(type_of(call));
}
/// Pieces of the first word alone.
ChunkSet pieces_in(std::uint64_t ids) { return ChunkSet({ids, 0, 0}); }

} // namespace

ReductionId Member::id_of_piece(const Slot& slot, std::uint32_t piece) const {
  return ReductionId{static_cast<std::uint8_t>(parameters_.first_piece.value +
                                               place_of(slot) * parameters_.window_chunks + piece)};
}

bool Member::receive_piece(const collective::ReceivedFrame& read, TimeNs now) {
  const wire::ReductionFrame& frame = read.frame;
  const collective::GroupParameters& group = channel_.parameters;
  const std::uint32_t place = std::uint32_t{frame.reduction.value} - parameters_.first_piece.value;
  if (place >= parameters_.pieces()) { // below the range it wraps
    return false;
  }
  if (frame.tree != group.tree || frame.vni != group.vni || frame.cookie != group.cookie) {
    ++statistics_.foreign;
    return true;
  }
  if (failure_) {
    return true;
  }
  Slot& slot = slots_[place / parameters_.window_chunks];
  const bool is_short = read.vector.form == wire::Form::words;
  if (is_short && wire::arms_set(frame.word)) {
    if (is_root() || (group.root_nid && frame.source_nid != *group.root_nid)) {
      ++statistics_.foreign;
      return true;
    }
    root_heard_at_ = now;
    const wire::ArmSet set = wire::arm_set_in(frame.payload);
    hear_pieces(slot, set.of_hosts, pieces_in(set.ids), frame.word.seqno, now);
  } else if (frame.word.count != 0) {
    take_piece(slot, place % parameters_.window_chunks, read, now);
  } else {
    ++statistics_.late;
  }
  return true;
}

void Member::hear_pieces(Slot& slot, std::uint64_t window, const ChunkSet& pieces,
                         SequenceNumber sequence, TimeNs now) {
  if (slot.pieces_heard && !collective::is_newer(sequence, *slot.pieces_heard)) {
    ++statistics_.reordered;
    return;
  }
  if (window == slot.window + slots_.size() && slot.acknowledged_full) {
    ++statistics_.by_data;
    slot.measured = false;
    complete(slot, now);
  }
  if (window != slot.window) {
    ++(window < slot.window ? statistics_.stale : statistics_.beyond_window);
    return;
  }
  slot.pieces_heard = sequence;
  if (slot.state == WindowState::absent) {
    slot.opened_early = pieces; // a newer sequence replaces those of an older one
  } else {
    open_pieces(slot, pieces);
  }
}

/// Contributes to these pieces, under the sequence heard last. What has not left yet is among them:
/// no piece has a result before all have contributed to it.
void Member::open_pieces(Slot& slot, const ChunkSet& pieces) {
  slot.unsent = pieces & ChunkSet::first(slot.count);
  slot.lost = slot.lost - pieces;
}

Member::Begun Member::write_contribution(Slot& slot, std::uint32_t piece, std::byte* room) {
  const collective::GroupParameters& group = channel_.parameters;
  const Chunk& chunk = slot.chunks[piece];
  const std::size_t padded = wire::padded_chunk(chunk.bytes);
  const SequenceNumber sequence = *slot.pieces_heard;
  ++(slot.contributed.contains(piece) ? statistics_.pieces_resent : statistics_.pieces_sent);
  slot.contributed.insert(piece);
  slot.contributed_to[piece] = sequence;
  const wire::WideFrame frame{
      .ethertype = group.ethertype,
      .destination = group.destination,
      .source = group.source,
      .dscp = is_root() ? wire::dscp_root : wire::dscp_leaf,
      .vni = group.vni,
      .source_nid = group.nid,
      .tree = group.tree,
      .slot = id_of_piece(slot, piece),
      .signature = signature_base_ == 0 ? 0
                                        : collective::signature_of_piece(
                                              signature_base_, number_of_piece(slot, piece)),
      .rank = group.rank,
      .cookie = group.cookie,
      .word = {.seqno = sequence,
               .op = slot.call.op,
               .count = 1,
               .resno = sequence,
               .pad = slot.own.contains(piece) ? wire::pad_wanted : std::uint8_t{0}},
      .form = collective::form_of(op_of(slot.call), type_of(slot.call)),
      .payload_bytes = padded};
  wire::encode_header(frame,
                      std::span<std::byte, wire::wide_header_bytes>(room, wire::wide_header_bytes));
  const std::byte* const from = slot.operation->data_ + chunk.offset;
  if (padded == chunk.bytes && !converts(slot.call)) {
    return {.bytes = wire::wide_header_bytes, .rest = {from, padded}};
  }
  std::byte* const to = room + wire::wide_header_bytes;
  if (converts(slot.call)) {
    collective::encode_elements(op_of(slot.call), type_of(slot.call), from,
                                elements_of(slot.call, chunk), to);
  } else {
    std::memcpy(to, from, chunk.bytes);
  }
  std::memset(to + chunk.bytes, 0, padded - chunk.bytes);
  return {.bytes = wire::wide_header_bytes + padded};
}

void Member::take_piece(Slot& slot, std::uint32_t piece, const collective::ReceivedFrame& read,
                        TimeNs now) {
  const wire::ReductionFrame& frame = read.frame;
  if (slot.state == WindowState::absent || !slot.own.contains(piece)) {
    ++statistics_.late; // of a window that is complete, or of another member's piece
    return;
  }
  if (!slot.missing.contains(piece)) {
    ++statistics_.duplicates;
    return;
  }
  const Chunk& chunk = slot.chunks[piece];
  const SequenceNumber sequence = slot.contributed_to[piece];
  const bool is_this =
      slot.contributed.contains(piece) && frame.word.resno == sequence &&
      frame.word.op == slot.call.op &&
      read.vector.form == collective::form_of(op_of(slot.call), type_of(slot.call)) &&
      read.vector.payload.size() == wire::padded_chunk(chunk.bytes);
  const bool has_all = frame.word.count == channel_.parameters.size &&
                       (!channel_.parameters.checks() ||
                        frame.signature == all_members_.expected(number_of_piece(slot, piece)));
  if (!is_this || !has_all) {
    ++statistics_.wrong_result;
    return;
  }
  Operation& operation = *slot.operation;
  std::byte* const to = operation.result_ + (chunk.offset - operation.own_offset_);
  if (converts(slot.call)) {
    collective::decode_elements(op_of(slot.call), type_of(slot.call), read.vector.payload.data(),
                                elements_of(slot.call, chunk), to);
  } else {
    std::memcpy(to, read.vector.payload.data(), chunk.bytes);
  }
  // Unsigned sums wrap, which is not an error: switches add signed numbers.
  const auto rc = static_cast<wire::ResultCode>(frame.word.rc);
  if (rc != wire::ResultCode::int_overflow || !collective::is_unsigned(type_of(slot.call))) {
    operation.rc_ = wire::worse(operation.rc_, rc);
  }
  ++statistics_.results;
  slot.missing.erase(piece);
  slot.lost.erase(piece);
  if (!std::exchange(slot.has_data, true)) {
    slot.gap_ns = least_gap_ns();
  }
  slot.gap_since = now;
  slot.state = slot.missing.empty() ? WindowState::full : WindowState::open;
  (slot.missing & slot.contributed & ChunkSet::first(piece)).for_each([&](std::uint32_t earlier) {
    if (slot.contributed_to[earlier] == sequence) {
      slot.lost.insert(earlier);
    }
  });
  consider(slot, now);
}

void Member::arm_pieces(Slot& slot, const ChunkSet& pieces, TimeNs now) {
  if (!parameters_.reduces || pieces.empty()) {
    return;
  }
  Question& question = question_of(slot);
  // Where no member wants a result the switch sends it to all, and opens the sequence after it.
  question.pieces = question.pieces ? collective::successor(collective::successor(*question.pieces))
                                    : channel_.parameters.first_sequence;
  const wire::ArmSet set{
      .first = id_of_piece(slot, 0).value, .of_hosts = slot.window, .ids = pieces.bits()[0]};
  channel_.send_on_all(id_of_piece(slot, 0),
                       {.seqno = *question.pieces,
                        .arm = true,
                        .op = wire::arm_set_opcode,
                        .resno = collective::no_sequence},
                       wire::payload_of(set));
  hear_pieces(slot, slot.window, pieces, *question.pieces, now);
}

} // namespace tributary::reliable_multicast
