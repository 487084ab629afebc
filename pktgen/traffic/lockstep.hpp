// Leaves in lockstep: one leaf's protocol for all of them, each with frames of its own.
//
// All leaves of a tree on one queue pair receive the same frames at the same times, are prompted
// and polled together, and begin the same operations. What the protocol does with a frame depends
// on who the leaf is in a single place: a frame that one of them sent itself, which none of them
// takes (ReducePort::receive). So they are always in the same state, whatever is lost, repeated or
// overtaken on the way to them, and one of them, the leader, can represent all: it runs the
// endpoint library's code (endpoint/collective/leaf.hpp), and what it sends is sent by each.
//
// A leaf's frame differs from its leader's in:
//
//   bytes     field                  from
//    2..5     destination address    the leaf's NID
//   24..25    header checksum        what it covers
//   26..29    SFA                    the leaf's NID
//   36..42    signature              of a contribution: the leaf's base in place of the leader's
//   46..49    rank
//   54..61    reduction word         of a contribution of 84-byte frames: rc, M and overflow id of
//                                    the leaf's operand
//   62..      payload                of a contribution: the leaf's operand of the same piece
//
// Everything that concerns only one leaf follows that: tampering works on the frames themselves. A
// skew gives each leaf a time of its own to begin; then each runs the protocol on its own. That
// mode can be chosen without a skew, too: a test compares both, frame by frame.
//
// Pure.
#pragma once

#include "endpoint/collective/group_parameters.hpp"
#include "endpoint/collective/outbox.hpp"
#include "endpoint/collective/signature.hpp"
#include "endpoint/collective/statistics.hpp"
#include "pktgen/traffic/reduce_operands.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tributary::pktgen::traffic {

/// What distinguishes the frames of one leaf, as encoded in them; the same in all trees. A walk
/// over all leaves reads three bytes in eight of a line for each.
struct LeafIdentity {
  std::uint64_t signature_base = 0; ///< 0 when contributions are not signed
  std::uint32_t rank = 0;
  std::uint32_t sfa = 0;         ///< in the order of the frame
  std::uint32_t destination = 0; ///< bytes 2 to 5 of the address, in the order of the frame

  explicit LeafIdentity(const collective::GroupParameters& leaf);
};

/// A frame of the leader's, from which those of the others are made.
class FrameTemplate {
public:
  /// `row`: the operands of the piece that the frame contributes to, if it is a contribution.
  FrameTemplate(const collective::Outbox::Frame& frame, const LeafIdentity& leader,
                const ReduceOperands& operands, std::uint32_t row);

  /// Whether it writes the complete frame; otherwise the vector has to be gathered (Outbox::write).
  [[nodiscard]] bool is_whole() const { return kind_ != Kind::vector; }
  /// The frame of this leaf, as stored in an outbox; `out` has room for 94 bytes.
  void write(const LeafIdentity& leaf, std::byte* out) const {
    std::memcpy(out, frame_.data(), frame_.size());
    std::memcpy(out + destination_offset, &leaf.destination, sizeof leaf.destination);
    std::byte* const portals = out + wire::ethernet_header_bytes;
    std::memcpy(portals + wire::portals_offset::sfa, &leaf.sfa, sizeof leaf.sfa);
    write_checksum(leaf, portals);
    wire::store_le<std::uint32_t>(portals + wire::reduction_offset::rank, leaf.rank);
    if (kind_ == Kind::request) {
      return;
    }
    wire::store_signature(portals, leaf.signature_base + signature_);
    if (kind_ == Kind::vector) {
      collective::Outbox::point_at(out, operands_->vector(row_, leaf.rank).in);
      return;
    }
    const collective::Operand& own = first_operand_[leaf.rank];
    wire::store_be<std::uint64_t>(portals + wire::reduction_offset::word,
                                  word_ | operand_bits(own));
    wire::store_payload(portals, own.payload);
  }

private:
  enum class Kind : std::uint8_t { request, words, vector };
  static constexpr std::size_t destination_offset = 2;

  static std::uint64_t operand_bits(const collective::Operand& operand) {
    wire::ReductionWord word;
    word.rc = static_cast<std::uint8_t>(operand.rc);
    word.m = operand.m;
    word.overflow_id = operand.overflow_id;
    return wire::pack(word);
  }
  void write_checksum(const LeafIdentity& leaf, std::byte* portals) const {
    std::uint64_t sum = rest_of_header_ + leaf.sfa;
    sum = (sum & 0xFFFFFFFFU) + (sum >> 32);
    sum = (sum & 0xFFFFU) + (sum >> 16);
    sum = (sum & 0xFFFFU) + (sum >> 16);
    const auto checksum = static_cast<std::uint16_t>(~((sum & 0xFFFFU) + (sum >> 16)));
    std::memcpy(portals + wire::portals_offset::checksum, &checksum, sizeof checksum);
  }

  collective::Outbox::Frame frame_;
  Kind kind_ = Kind::request;
  std::uint32_t row_;
  std::uint64_t rest_of_header_ = 0; ///< the sum of the fabric header's words but the SFA
  std::uint64_t signature_ = 0;      ///< less the leader's base
  std::uint64_t word_ = 0;           ///< without the bits of the operand
  const ReduceOperands* operands_;
  const collective::Operand* first_operand_ = nullptr; ///< of the row, by rank
};

/// What the leader did last, and the others still have to.
struct LockstepStep {
  bool begun = false;
  std::size_t next_frame = 0; ///< of the leaf whose turn it is
  std::vector<FrameTemplate> frames;
  // Per leaf, where it is measured.
  std::uint64_t results = 0;
  std::uint64_t payload_bytes = 0;
  std::vector<std::uint64_t> latencies; ///< of operations that it finished
  // For leaves that have not done it yet.
  std::uint64_t oldest = 0;
  collective::Statistics statistics;

  void clear() {
    begun = false;
    next_frame = 0;
    frames.clear();
    forget_measured();
  }
  /// A measurement begins; the step is not part of it.
  void forget_measured() {
    results = payload_bytes = 0;
    latencies.clear();
  }
};

} // namespace tributary::pktgen::traffic
