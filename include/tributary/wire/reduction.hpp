// The reduction frame: 14 bytes of Ethernet, an 80-byte Portals packet. A port sees these 94 bytes;
// the NIC handles the 4-byte FCS. Bytes past 94 are ignored.
//
// After the Portals command (portals.hpp), offsets from the start of the Portals packet:
//
//   off size order  field
//    31   1         form, 0; others are for wide frames (wide_reduction.hpp)
//    32   4   LE    sender's rank in its group; for readers of captures, switches ignore it
//    36   4   BE    cookie
//    40   8   BE    reduction word
//    48  32   BE    four 64-bit payload words, each swapped separately, word 0 first
//
// The reduction word:
//
//   bits   name        meaning
//    9:0   seqno       sequence being armed, or contributed to
//   10     arm         1 = arm; only on frames that travel down
//   16:11  op          opcode
//   36:17  count       contributions inside this frame
//   46:37  resno       sequence whose result this is
//   50:47  rc          result code
//   58:51  M           signed; FLT_REPSUM only
//   60:59  overflow id the limb that overflowed, 3 = most significant; FLT_REPSUM only
//   63:61  pad         bit 61 is the hosts' retry flag; carried unchanged downward
//
// The contribution signature. Counts alone cannot distinguish a duplicate from a missing
// contribution. So the 56-bit remote offset of the Portals command, which reductions do not use,
// may carry a number that identifies the contribution, and an engine adds these up (modulo 2^56) as
// it adds counts. A root that knows each member's signature can then verify that the sum contains
// each contribution exactly once. If all inputs are zero, so is the sum: hosts that do not sign are
// unaffected. See docs/decisions/contribution-checks.md.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/result_code.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tributary::wire {

inline constexpr std::size_t reduction_packet_bytes = 80;
inline constexpr std::size_t reduction_frame_bytes = ethernet_header_bytes + reduction_packet_bytes;
inline constexpr std::uint16_t reduction_request_length = 49;
/// The part of the packet an engine keeps of the first contribution: header, command, pad, rank.
inline constexpr std::size_t saved_header_bytes = 36;

namespace reduction_offset {
inline constexpr std::size_t rank = 32;
inline constexpr std::size_t cookie = 36;
inline constexpr std::size_t word = 40;
inline constexpr std::size_t payload = 48;
} // namespace reduction_offset

/// Four 64-bit words in host order: integers, the bit patterns of doubles, a {min, index, max,
/// index} tuple, or the limbs of a reproducible sum, least significant first.
using Payload = std::array<std::uint64_t, 4>;

inline constexpr std::uint8_t pad_retry = 1; ///< bit 61, the lowest of the three pad bits

/// The unpacked reduction word.
struct ReductionWord {
  SequenceNumber seqno;
  bool arm = false;
  std::uint8_t op = 0; ///< six bits; may be reserved, see is_supported
  ContributionCount count = 0;
  SequenceNumber resno;
  std::uint8_t rc = 0; ///< four bits
  std::int8_t m = 0;
  std::uint8_t overflow_id = 0; ///< two bits
  std::uint8_t pad = 0;         ///< three bits

  [[nodiscard]] constexpr bool retry() const { return (pad & pad_retry) != 0; }
  [[nodiscard]] constexpr Opcode opcode() const { return static_cast<Opcode>(op); }
  /// Whether a frame of 84 bytes with it is a contribution: it counts, does not arm, and its
  /// opcode is not reserved.
  [[nodiscard]] constexpr bool contributes() const {
    return !arm && count != 0 && is_supported(op);
  }
  friend constexpr bool operator==(const ReductionWord&, const ReductionWord&) = default;
};

constexpr std::uint64_t pack(const ReductionWord& w) {
  return std::uint64_t{w.seqno.value()} | std::uint64_t{w.arm} << 10 |
         std::uint64_t{w.op & 0x3FU} << 11 | std::uint64_t{w.count & max_contributions} << 17 |
         std::uint64_t{w.resno.value()} << 37 | std::uint64_t{w.rc & 0xFU} << 47 |
         std::uint64_t{static_cast<std::uint8_t>(w.m)} << 51 |
         std::uint64_t{w.overflow_id & 3U} << 59 | std::uint64_t{w.pad & 7U} << 61;
}
/// Always inlined: callers mostly need one or two of the fields; a call would extract all.
[[gnu::always_inline]] constexpr ReductionWord unpack(std::uint64_t v) {
  ReductionWord w;
  w.seqno = SequenceNumber{static_cast<std::uint32_t>(v & 0x3FF)};
  w.arm = (v >> 10 & 1U) != 0;
  w.op = static_cast<std::uint8_t>(v >> 11 & 0x3F);
  w.count = static_cast<ContributionCount>(v >> 17 & max_contributions);
  w.resno = SequenceNumber{static_cast<std::uint32_t>(v >> 37 & 0x3FF)};
  w.rc = static_cast<std::uint8_t>(v >> 47 & 0xF);
  w.m = static_cast<std::int8_t>(static_cast<std::uint8_t>(v >> 51 & 0xFF));
  w.overflow_id = static_cast<std::uint8_t>(v >> 59 & 3U);
  w.pad = static_cast<std::uint8_t>(v >> 61 & 7U);
  return w;
}

/// A 56-bit number, see the file head.
inline constexpr std::uint64_t signature_mask = (std::uint64_t{1} << 56) - 1;

/// All fields of one reduction frame, as a host sends or receives it.
struct ReductionFrame {
  std::uint16_t ethertype = default_ethertype;
  MacAddress destination{};
  MacAddress source{};
  std::uint8_t dscp = dscp_leaf;
  Vni vni;
  Nid source_nid;
  TreeNumber tree;
  ReductionId reduction;
  std::uint64_t signature = 0;
  std::uint32_t rank = 0;
  Cookie cookie;
  ReductionWord word;
  Payload payload{};
};

inline ReductionWord load_word(const std::byte* portals) {
  return unpack(load_be<std::uint64_t>(portals + reduction_offset::word));
}
inline void store_word(std::byte* portals, const ReductionWord& w) {
  store_be<std::uint64_t>(portals + reduction_offset::word, pack(w));
}
inline Cookie cookie_of(const std::byte* portals) {
  return Cookie{load_be<std::uint32_t>(portals + reduction_offset::cookie)};
}
inline std::uint64_t signature_of(const std::byte* portals) {
  // The seven bytes of the remote offset end before byte 29; the byte in front is masked off.
  return load_be<std::uint64_t>(portals + portals_offset::remote_offset - 1) & signature_mask;
}
inline void store_signature(std::byte* portals, std::uint64_t signature) {
  // The seven bytes in two parts that overlap by one, so that nothing in front of them is read.
  std::byte* at = portals + portals_offset::remote_offset;
  store_be<std::uint32_t>(at, static_cast<std::uint32_t>(signature >> 24));
  store_be<std::uint32_t>(at + 3, static_cast<std::uint32_t>(signature));
}
inline Payload load_payload(const std::byte* portals) {
  Payload p;
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = load_be<std::uint64_t>(portals + reduction_offset::payload + 8 * i);
  }
  return p;
}
inline void store_payload(std::byte* portals, const Payload& p) {
  Payload swapped;
  for (std::size_t i = 0; i < p.size(); ++i) {
    store_be<std::uint64_t>(reinterpret_cast<std::byte*>(&swapped[i]), p[i]);
  }
  std::memcpy(portals + reduction_offset::payload, swapped.data(), sizeof swapped);
}

namespace detail {

/// Everything before the payload; `Frame` has the fields of ReductionFrame up to `word`.
template <typename Frame>
inline void write_reduction_headers(const Frame& f, FabricAddress destination,
                                    std::uint16_t total_length, std::uint16_t request_length,
                                    std::byte* frame) {
  write_ethernet_header(frame, f.destination, f.source, f.ethertype);
  std::byte* p = frame + ethernet_header_bytes;
  std::memset(p, 0, reduction_offset::payload);
  p[portals_offset::version_ihl] = std::byte{portals_version_ihl};
  p[portals_offset::dscp_ecn] = static_cast<std::byte>(f.dscp << 2);
  store_be<std::uint16_t>(p + portals_offset::total_length, total_length);
  store_be<std::uint16_t>(p + portals_offset::vni, f.vni.value);
  p[portals_offset::ttl] = std::byte{portals_ttl};
  p[portals_offset::protocol] = std::byte{portals_protocol};
  store_be<std::uint32_t>(p + portals_offset::sfa, FabricAddress::unicast(f.source_nid).value);
  store_be<std::uint32_t>(p + portals_offset::dfa, destination.value);
  p[portals_offset::command] = std::byte{reduction_command};
  store_signature(p, f.signature);
  store_be<std::uint16_t>(p + portals_offset::request_length, request_length);
  store_le<std::uint32_t>(p + reduction_offset::rank, f.rank);
  store_be<std::uint32_t>(p + reduction_offset::cookie, f.cookie.value);
  store_word(p, f.word);
  write_fabric_header_checksum(p);
}

/// The reverse; the caller reads the reduction id, which has three bits or seven.
template <typename Frame>
inline void read_reduction_headers(const std::byte* frame, std::uint16_t ethertype, Frame& out) {
  const std::byte* p = frame + ethernet_header_bytes;
  out.ethertype = ethertype;
  std::memcpy(out.destination.data(), frame, out.destination.size());
  std::memcpy(out.source.data(), frame + 6, out.source.size());
  out.dscp = static_cast<std::uint8_t>(std::to_integer<unsigned>(p[portals_offset::dscp_ecn]) >> 2);
  out.vni = vni_of(p);
  out.source_nid = sfa_of(p).nid();
  out.tree = dfa_of(p).tree();
  out.signature = signature_of(p);
  out.rank = load_le<std::uint32_t>(p + reduction_offset::rank);
  out.cookie = cookie_of(p);
  out.word = load_word(p);
}

} // namespace detail

/// Writes all 94 bytes, including the header checksum.
inline void encode(const ReductionFrame& f, std::span<std::byte, reduction_frame_bytes> out) {
  detail::write_reduction_headers(f, FabricAddress::multicast(f.tree, f.reduction),
                                  reduction_packet_bytes, reduction_request_length, out.data());
  store_payload(out.data() + ethernet_header_bytes, f.payload);
}

/// Why a buffer is not a reduction frame.
enum class DecodeError : std::uint8_t {
  none,
  too_short,       ///< fewer than 94 bytes, or than its total length
  wrong_ethertype, ///< not the given EtherType
  wrong_version,   ///< version/ihl is not 0x45
  wrong_length,    ///< total length is not 80; for a wide frame, not a possible one
  wrong_checksum,  ///< header checksum
  not_multicast,   ///< DFA is a unicast address, or its action is not 7
  wrong_request,   ///< request length is not 49; for a wide frame, not that of its payload
  wrong_form,      ///< for a wide frame: no such element type, or an upper bit of the form is set
};

constexpr std::string_view name_of(DecodeError e) {
  switch (e) {
  case DecodeError::none: return "none";
  case DecodeError::too_short: return "too_short";
  case DecodeError::wrong_ethertype: return "wrong_ethertype";
  case DecodeError::wrong_version: return "wrong_version";
  case DecodeError::wrong_length: return "wrong_length";
  case DecodeError::wrong_checksum: return "wrong_checksum";
  case DecodeError::not_multicast: return "not_multicast";
  case DecodeError::wrong_request: return "wrong_request";
  case DecodeError::wrong_form: return "wrong_form";
  }
  return "unknown";
}

namespace detail {

/// The common part of all reduction frames; `has_length(total length)` selects the form.
template <typename HasLength>
inline DecodeError check_reduction_frame(std::span<const std::byte> frame, std::uint16_t ethertype,
                                         HasLength has_length) {
  if (frame.size() < ethernet_header_bytes) {
    return DecodeError::too_short;
  }
  if (ethertype_of(frame.data()) != ethertype) {
    return DecodeError::wrong_ethertype;
  }
  if (frame.size() < reduction_frame_bytes) {
    return DecodeError::too_short;
  }
  const std::byte* p = frame.data() + ethernet_header_bytes;
  if (p[portals_offset::version_ihl] != std::byte{portals_version_ihl}) {
    return DecodeError::wrong_version;
  }
  const std::size_t total_length = total_length_of(p);
  if (!has_length(total_length)) {
    return DecodeError::wrong_length;
  }
  if (frame.size() < ethernet_header_bytes + total_length) {
    return DecodeError::too_short;
  }
  if (!fabric_header_checksum_ok(p)) {
    return DecodeError::wrong_checksum;
  }
  const FabricAddress dfa = dfa_of(p);
  return dfa.is_multicast() && dfa.action() == 7 ? DecodeError::none : DecodeError::not_multicast;
}

} // namespace detail

/// Reads a reduction frame of the given EtherType; `out` is only written if the result is `none`.
/// Bytes past the 94th are ignored.
inline DecodeError decode(std::span<const std::byte> frame, std::uint16_t ethertype,
                          ReductionFrame& out) {
  if (const DecodeError error = detail::check_reduction_frame(
          frame, ethertype,
          [](std::size_t total_length) { return total_length == reduction_packet_bytes; });
      error != DecodeError::none) {
    return error;
  }
  const std::byte* p = frame.data() + ethernet_header_bytes;
  if (request_length_of(p) != reduction_request_length) {
    return DecodeError::wrong_request;
  }
  detail::read_reduction_headers(frame.data(), ethertype, out);
  out.reduction = dfa_of(p).reduction();
  out.payload = load_payload(p);
  return DecodeError::none;
}

} // namespace tributary::wire
