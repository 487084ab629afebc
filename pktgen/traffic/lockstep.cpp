#include "pktgen/traffic/lockstep.hpp"

#include <cassert>

namespace tributary::pktgen::traffic {

LeafIdentity::LeafIdentity(const collective::GroupParameters& leaf)
    : signature_base(leaf.checks() ? collective::signature_base(leaf.cookie, leaf.rank) : 0),
      rank(leaf.rank) {
  wire::store_be<std::uint32_t>(reinterpret_cast<std::byte*>(&sfa),
                                wire::FabricAddress::unicast(leaf.nid).value);
  std::memcpy(&destination, leaf.destination.data() + 2, sizeof destination);
}

FrameTemplate::FrameTemplate(const collective::Outbox::Frame& frame, const LeafIdentity& leader,
                             const ReduceOperands& operands, std::uint32_t row)
    : frame_(frame), row_(row), operands_(&operands) {
  std::byte* const portals = frame_.data() + wire::ethernet_header_bytes;
  const wire::ReductionWord word = wire::load_word(portals);
  if (word.count != 0) {
    kind_ = operands.is_wide(row) ? Kind::vector : Kind::words;
    signature_ = wire::signature_of(portals) - leader.signature_base;
  }
  if (kind_ == Kind::words) {
    first_operand_ = &operands.operand(row, 0);
    word_ =
        wire::pack(word) &
        ~operand_bits(
            {.rc = static_cast<wire::ResultCode>(0xF), .m = -1, .overflow_id = 3, .source = {}});
  }
  std::array<std::byte, wire::fabric_header_bytes> header;
  std::memcpy(header.data(), portals, header.size());
  std::memset(header.data() + wire::portals_offset::checksum, 0, 2);
  std::memset(header.data() + wire::portals_offset::sfa, 0, 4);
  rest_of_header_ = wire::fabric_header_sum(header.data());
#ifndef NDEBUG
  collective::Outbox::Frame again;
  write(leader, again.data());
  assert(again == frame);
#endif
}

} // namespace tributary::pktgen::traffic
