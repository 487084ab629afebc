// A received frame of a group, of 84 bytes or wide.
#pragma once

#include "endpoint/collective/wide_operand.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::collective {

struct ReceivedFrame {
  wire::ReductionFrame frame; ///< of a wide frame everything except the payload
  WideView vector;            ///< payload of a wide frame
};

/// Reads a frame of a group on trees with `slots` ids and at most `payload` bytes of
/// payload. Returns false where it is none; `out` is then unspecified.
[[nodiscard]] inline bool read_frame(std::span<const std::byte> bytes, std::uint16_t ethertype,
                                     std::size_t slots, std::size_t payload, ReceivedFrame& out) {
  const auto address = [&] { return wire::dfa_of(bytes.data() + wire::ethernet_header_bytes); };
  if (wire::decode(bytes, ethertype, out.frame) == wire::DecodeError::none) {
    if (slots > reductions_per_tree) {
      out.frame.reduction = address().slot();
    }
    out.vector = {};
    return true;
  }
  wire::WideFrame wide;
  if (payload <= sizeof(wire::Payload) ||
      wire::decode(bytes, ethertype, wide) != wire::DecodeError::none ||
      wide.payload_bytes > payload || !wire::is_supported(wide.word.op) ||
      !wire::carries(wide.form, wide.word.opcode())) {
    return false;
  }
  wire::ReductionFrame& frame = out.frame;
  frame = {};
  frame.ethertype = wide.ethertype;
  frame.destination = wide.destination;
  frame.source = wide.source;
  frame.dscp = wide.dscp;
  frame.vni = wide.vni;
  frame.source_nid = wide.source_nid;
  frame.tree = wide.tree;
  frame.reduction = wide.slot;
  frame.signature = wide.signature;
  frame.rank = wide.rank;
  frame.cookie = wide.cookie;
  frame.word = wide.word;
  out.vector = {.form = wide.form, .payload = wire::payload_of(bytes, wide)};
  return true;
}

} // namespace tributary::collective
