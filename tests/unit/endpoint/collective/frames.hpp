// Frames and groups for the tests of the collective protocol.
#pragma once

#include "endpoint/collective/member.hpp"
#include "endpoint/collective/notice.hpp"
#include "endpoint/collective/signature.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace tributary::collective::test {

inline constexpr std::uint64_t ms = 1'000'000;

inline Nid nid_of_rank(std::uint32_t rank) { return Nid{0x100 + rank}; }

inline GroupParameters group_of(std::uint32_t size, std::uint32_t rank) {
  GroupParameters p;
  p.tree = TreeNumber{0xABC};
  p.vni = Vni{0x400};
  p.cookie = Cookie{0x5EED0001};
  p.size = size;
  p.rank = rank;
  p.nid = nid_of_rank(rank);
  p.root_nid = nid_of_rank(0);
  p.destination = wire::port_mac(p.nid);
  p.source = wire::host_mac(p.nid);
  return p;
}

inline Operand operand_of(wire::Opcode op, const wire::Payload& payload, std::int8_t m = 0) {
  Operand operand;
  operand.op = op;
  operand.payload = payload;
  operand.m = m;
  return operand;
}
inline Operand int_sum(std::uint64_t value) {
  return operand_of(wire::Opcode::int_sum, {value, 0, 0, 0});
}

inline wire::ReductionFrame decoded(std::span<const std::byte> bytes) {
  wire::ReductionFrame frame;
  if (wire::decode(bytes, wire::default_ethertype, frame) != wire::DecodeError::none) {
    throw std::runtime_error("a member sent a frame that cannot be decoded");
  }
  return frame;
}

/// Everything in the outbox, oldest first.
inline std::vector<wire::ReductionFrame> drain(Member& member) {
  std::vector<wire::ReductionFrame> frames;
  while (!member.outbox().empty()) {
    frames.push_back(decoded(member.outbox().front()));
    member.outbox().pop();
  }
  return frames;
}

/// Without the notices about missing members.
inline std::vector<wire::ReductionFrame>
without_notices(const std::vector<wire::ReductionFrame>& frames) {
  std::vector<wire::ReductionFrame> rest;
  for (const wire::ReductionFrame& frame : frames) {
    if (frame.word != notice_word()) {
      rest.push_back(frame);
    }
  }
  return rest;
}

/// The contribution of this rank's leaf to a piece, as on the wire.
inline wire::ReductionFrame contribution(const GroupParameters& group, std::uint32_t rank,
                                         PieceNumber piece, SequenceNumber sequence,
                                         const Operand& operand) {
  wire::ReductionFrame f;
  f.vni = group.vni;
  f.source_nid = nid_of_rank(rank);
  f.tree = group.tree;
  f.reduction = reduction_of(piece);
  f.signature = signature_of_piece(signature_base(group.cookie, rank), piece);
  f.rank = rank;
  f.cookie = group.cookie_of(f.reduction);
  f.word = {.seqno = sequence,
            .op = static_cast<std::uint8_t>(operand.op),
            .count = 1,
            .resno = sequence,
            .rc = static_cast<std::uint8_t>(operand.rc),
            .m = operand.m,
            .overflow_id = operand.overflow_id};
  f.payload = operand.payload;
  return f;
}

/// The root's frame that opens `seqno`, with the last result behind it.
inline wire::ReductionFrame from_root(const GroupParameters& group, ReductionId id,
                                      const wire::ReductionWord& word,
                                      const wire::Payload& payload = {}) {
  wire::ReductionFrame f;
  f.dscp = wire::dscp_root;
  f.vni = group.vni;
  f.source_nid = nid_of_rank(group.root_rank);
  f.tree = group.tree;
  f.reduction = id;
  f.cookie = group.cookie_of(id);
  f.word = word;
  f.payload = payload;
  return f;
}

inline wire::ReductionWord retry_word(std::uint32_t seqno, std::uint32_t resno = 1023,
                                      ContributionCount count = 0) {
  return {.seqno = SequenceNumber{seqno},
          .arm = true,
          .op =
              static_cast<std::uint8_t>(count == 0 ? wire::Opcode::barrier : wire::Opcode::int_sum),
          .count = count,
          .resno = SequenceNumber{resno},
          .pad = wire::pad_retry};
}

inline wire::ReductionWord result_word(std::uint32_t seqno, std::uint32_t resno,
                                       ContributionCount count) {
  wire::ReductionWord word = retry_word(seqno, resno, count);
  word.pad = 0;
  return word;
}

} // namespace tributary::collective::test
