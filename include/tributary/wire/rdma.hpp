// RDMA frames: 14 bytes of Ethernet, the 20-byte fabric header (portals.hpp) with a unicast DFA,
// and after it, with offsets from the start of the Portals packet:
//
//   off size order  field
//    20   1         0xD1: request, packet type 5, opcode 1
//    21   1         mark: 0 as sent; 1: a switch has cut the frame after the header ("trimmed")
//    22   2   LE    header check: bits 15:0 of the CRC32C over addresses and header
//    24  32         the RDMA header
//    56             payload of a WR; bitmap of a RESEND or PROG; request (rdma_request.hpp) of an
//                   RQT or RD_RQT; segments of a STR; bitmap of an ACK; empty for all other kinds
//
// The RDMA header, all little-endian. STR and ACK have fields of their own (stream.hpp). Data
// travels from the *source* to the *sink*:
//
//   off size  field      in
//     0   1   version 2 in bits 7:4, kind in 3:0
//     1   1   flags
//     2   2   DCID       all but RD_RQT: the receiver's context. RQT: bits 15:0 of the nonce
//     4   2   SCID       the sender's context
//     6   2   CGEN       generation of the sink's context, in either direction. RQT: bits 31:16 of
//                        the nonce
//     8   4   MSGID
//    12   4   PIDX       WR: index of the frame. RQT, RD_RQT: N, number of frames. RSP, RESEND,
//                        PROG: WBASE, all below is placed. QUERY: number of frames sent. RSP
//                        `unproven`: bits 63:32 of the proof
//    16   8   word       RQT, RD_RQT: offset in the peer's region. WR: the sender's time stamp,
//                        ns. PROG, DONE: the newest stamp, or 0. RSP, ABORT: status in 7:0. RSP,
//                        RESEND: in 63:32 the nonce of the request; of a busy RSP the time
//                        before a retry, us
//    24   4   value      RQT, RD_RQT: bits 31:0 of the length. RSP, RESEND, PROG: credit, PIDX
//                        below this may be sent; of an RSP that refuses the frames' length,
//                        the supported payload bytes; of RSP `unproven` bits 31:0 of the
//                        proof
//    28   4   CRC        CRC32C over SFA, DFA, VNI (as in the frame), the 28 bytes of the
//                        header before it, and everything after it
//
// The source draws the nonce for each request. Answers without a context of the sink carry it in
// place of that context, in SCID and CGEN.
//
// Bit i of a bitmap, in 64-bit words: send WBASE + i again.
//
// Ambiguity. A reduction has a multicast DFA, this a unicast one: switches forward it like every
// unicast frame, by DFA alone, and `decode` of reductions refuses it as `not_multicast`. Other
// unicasts do not have the command byte, whose packet type is reserved in the public definitions of
// the hardware.
//
// Trimmed frames. A switch that cuts a frame after the header sets the mark, the total length and
// the checksum of the fabric header, and nothing else. The CRC cannot be verified any more; the
// header check can. 16 bits are enough, since a trimmed frame only ever causes a question: the sink
// immediately asks for this PIDX. The mark is outside of both checks; a whole frame with the mark
// is refused, and a cut one without it fails the CRC.
//
// Pure: no I/O, no clock, no allocation.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/crc32c.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tributary::wire {

inline constexpr std::uint8_t rdma_command = 0xD1;
inline constexpr std::uint8_t rdma_version = 2;
inline constexpr std::size_t rdma_header_bytes = 32;
/// Everything before the payload: 14 + 24 + 32.
inline constexpr std::size_t rdma_overhead_bytes = ethernet_header_bytes + 24 + rdma_header_bytes;
/// An Ethernet frame with 9,000 bytes after its header: "jumbo".
inline constexpr std::size_t longest_rdma_payload =
    9000 - (rdma_overhead_bytes - ethernet_header_bytes);
inline constexpr std::size_t longest_rdma_bitmap_bytes = 1024 / 8;

namespace rdma_offset {
inline constexpr std::size_t mark = 21;
inline constexpr std::size_t header_check = 22;
inline constexpr std::size_t header = 24;
inline constexpr std::size_t payload = header + rdma_header_bytes;
// Within the header.
inline constexpr std::size_t flags = 1;
inline constexpr std::size_t dcid = 2;
inline constexpr std::size_t scid = 4;
inline constexpr std::size_t generation = 6;
inline constexpr std::size_t message = 8;
inline constexpr std::size_t pidx = 12;
inline constexpr std::size_t word = 16;
inline constexpr std::size_t value = 24;
inline constexpr std::size_t crc = 28;
} // namespace rdma_offset

enum class RdmaKind : std::uint8_t {
  rqt = 1,    ///< source to sink: may I write?
  rsp = 2,    ///< sink to source, or target of a read to its reader: yes, no, or busy
  wr = 3,     ///< source to sink: data
  resend = 4, ///< sink to source: these have not arrived
  done = 5,   ///< sink to source: all has been placed
  rd_rqt = 6, ///< sink to source: write to me
  prog = 7,   ///< sink to source: progress, and credit
  query = 8,  ///< source to sink: asks for the state
  noctx = 9,  ///< either way: the transfer is unknown
  fin = 10,   ///< source to sink: completion is known, the sink may forget the transfer
  abort = 11, ///< either way: it has ended incomplete
  str = 12,   ///< data of an ordered stream
  ack = 13,   ///< about an ordered stream
};
inline constexpr std::size_t rdma_kinds = 14; ///< one more than the highest kind; 0 is not a kind

constexpr std::string_view name_of(RdmaKind kind) {
  switch (kind) {
  case RdmaKind::rqt: return "RQT";
  case RdmaKind::rsp: return "RSP";
  case RdmaKind::wr: return "WR";
  case RdmaKind::resend: return "RESEND";
  case RdmaKind::done: return "DONE";
  case RdmaKind::rd_rqt: return "RD_RQT";
  case RdmaKind::prog: return "PROG";
  case RdmaKind::query: return "QUERY";
  case RdmaKind::noctx: return "NOCTX";
  case RdmaKind::fin: return "FIN";
  case RdmaKind::abort: return "ABORT";
  case RdmaKind::str: return "STR";
  case RdmaKind::ack: return "ACK";
  }
  return "unknown";
}

namespace rdma_flag {
inline constexpr std::uint8_t last = 1;        ///< WR: PIDX is N - 1
inline constexpr std::uint8_t resent = 2;      ///< WR: a copy of one that was sent before (RETX)
inline constexpr std::uint8_t range = 4;       ///< RESEND: also everything sent after the bitmap
inline constexpr std::uint8_t busy = 8;        ///< RSP: not now
inline constexpr std::uint8_t ack_please = 16; ///< WR, QUERY: answer even without news
inline constexpr std::uint8_t immediate = 32;  ///< RQT: the request carries immediate data
inline constexpr std::uint8_t to_sink = 64;    ///< RSP, NOCTX, ABORT: DCID is a sink's context
} // namespace rdma_flag

/// Everything of an RDMA frame except what follows the header.
struct RdmaHeader {
  EndPoint source;      ///< of the frame
  EndPoint destination; ///< of the frame
  Vni vni;
  RdmaKind kind = RdmaKind::wr;
  std::uint8_t flags = 0;
  std::uint16_t dcid = 0;
  std::uint16_t scid = 0;
  std::uint16_t generation = 0;
  std::uint32_t message = 0;
  std::uint32_t pidx = 0;
  std::uint64_t word = 0;
  std::uint32_t value = 0;

  [[nodiscard]] constexpr bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  friend bool operator==(const RdmaHeader&, const RdmaHeader&) = default;
};

/// For an RQT: the nonce of its answers.
constexpr std::uint32_t rdma_nonce_of(const RdmaHeader& h) {
  return std::uint32_t{h.generation} << 16 | h.dcid;
}

/// For an RSP with the status `unproven`: the proof for the next request.
constexpr std::uint64_t rdma_proof_in(const RdmaHeader& h) {
  return std::uint64_t{h.pidx} << 32 | h.value;
}

/// A frame that was read. The payload is the frame's own bytes.
struct RdmaFrame {
  RdmaHeader header;
  bool trimmed = false; ///< a switch has cut the payload: use it only to ask again
  std::span<const std::byte> payload;
};

/// The outer headers of a host's frames: the same for all kinds.
struct RdmaEnvelope {
  MacAddress source_mac{};
  MacAddress destination_mac{};
  std::uint16_t ethertype = default_ethertype;
  std::uint8_t dscp = 0;
};

namespace rdma_detail {

/// Over everything a trimmed frame keeps: addresses, VNI, and the header without its CRC.
inline Crc32c crc_of_header(const std::byte* portals) {
  Crc32c crc;
  crc.add<8>(portals + portals_offset::sfa);
  crc.add<2>(portals + portals_offset::vni);
  crc.add<rdma_offset::crc>(portals + rdma_offset::header);
  return crc;
}

} // namespace rdma_detail

/// Length of a frame with this payload, in bytes.
constexpr std::size_t rdma_frame_bytes(std::size_t payload) {
  return rdma_overhead_bytes + payload;
}

/// Writes a frame with its checks and returns its length. `payload` is copied, unless it is already
/// at its place. Requires room, and at most `longest_rdma_payload`.
inline std::size_t encode(const RdmaHeader& h, const RdmaEnvelope& envelope,
                          std::span<const std::byte> payload, std::byte* frame) {
  write_ethernet_header(frame, envelope.destination_mac, envelope.source_mac, envelope.ethertype);
  std::byte* const p = frame + ethernet_header_bytes;
  const std::size_t total = rdma_offset::payload + payload.size();
  p[portals_offset::version_ihl] = std::byte{portals_version_ihl};
  p[portals_offset::dscp_ecn] = static_cast<std::byte>(envelope.dscp << 2);
  store_be<std::uint16_t>(p + portals_offset::total_length, static_cast<std::uint16_t>(total));
  store_be<std::uint16_t>(p + portals_offset::vni, h.vni.value);
  store_be<std::uint16_t>(p + portals_offset::vni + 2, 0);
  p[portals_offset::ttl] = std::byte{portals_ttl};
  p[portals_offset::protocol] = std::byte{portals_protocol};
  store_be<std::uint32_t>(p + portals_offset::sfa, FabricAddress::unicast(h.source).value);
  store_be<std::uint32_t>(p + portals_offset::dfa, FabricAddress::unicast(h.destination).value);
  write_fabric_header_checksum(p);
  p[portals_offset::command] = std::byte{rdma_command};
  p[rdma_offset::mark] = std::byte{0};

  std::byte* const r = p + rdma_offset::header;
  r[0] = static_cast<std::byte>(rdma_version << 4 | static_cast<unsigned>(h.kind));
  r[rdma_offset::flags] = std::byte{h.flags};
  store_le(r + rdma_offset::dcid, h.dcid);
  store_le(r + rdma_offset::scid, h.scid);
  store_le(r + rdma_offset::generation, h.generation);
  store_le(r + rdma_offset::message, h.message);
  store_le(r + rdma_offset::pidx, h.pidx);
  store_le(r + rdma_offset::word, h.word);
  store_le(r + rdma_offset::value, h.value);

  std::byte* const behind = p + rdma_offset::payload;
  if (!payload.empty() && payload.data() != behind) {
    std::memcpy(behind, payload.data(), payload.size());
  }
  Crc32c crc = rdma_detail::crc_of_header(p);
  store_le(p + rdma_offset::header_check, static_cast<std::uint16_t>(crc.value()));
  crc.add(behind, payload.size());
  store_le(r + rdma_offset::crc, crc.value());
  return ethernet_header_bytes + total;
}

/// Why a buffer is not an RDMA frame.
enum class RdmaError : std::uint8_t {
  none,
  too_short,        ///< ends within the header
  wrong_ethertype,  ///< not the given EtherType
  wrong_version,    ///< version/ihl of the fabric header is not 0x45
  wrong_length,     ///< shorter than a header, or longer than the frame
  wrong_checksum,   ///< of the fabric header
  not_unicast,      ///< the DFA is a multicast address
  not_rdma,         ///< another command byte
  unknown_version,  ///< not version 2 of the RDMA header
  unknown_kind,     ///< a kind that does not exist
  wrong_mark,       ///< neither 0 nor 1, or a whole frame is marked as trimmed
  bad_header_check, ///< of a trimmed frame
  bad_crc,          ///< some bit differs from what the sender wrote
};

constexpr std::string_view name_of(RdmaError error) {
  switch (error) {
  case RdmaError::none: return "none";
  case RdmaError::too_short: return "too_short";
  case RdmaError::wrong_ethertype: return "wrong_ethertype";
  case RdmaError::wrong_version: return "wrong_version";
  case RdmaError::wrong_length: return "wrong_length";
  case RdmaError::wrong_checksum: return "wrong_checksum";
  case RdmaError::not_unicast: return "not_unicast";
  case RdmaError::not_rdma: return "not_rdma";
  case RdmaError::unknown_version: return "unknown_version";
  case RdmaError::unknown_kind: return "unknown_kind";
  case RdmaError::wrong_mark: return "wrong_mark";
  case RdmaError::bad_header_check: return "bad_header_check";
  case RdmaError::bad_crc: return "bad_crc";
  }
  return "unknown";
}

/// Reads a frame; `out` is only written if the result is `none`. Bytes after the total length are
/// padding.
inline RdmaError decode(std::span<const std::byte> frame, std::uint16_t ethertype, RdmaFrame& out) {
  if (frame.size() < rdma_overhead_bytes) {
    return RdmaError::too_short;
  }
  if (ethertype_of(frame.data()) != ethertype) {
    return RdmaError::wrong_ethertype;
  }
  const std::byte* const p = frame.data() + ethernet_header_bytes;
  if (p[portals_offset::version_ihl] != std::byte{portals_version_ihl}) {
    return RdmaError::wrong_version;
  }
  const std::size_t total = total_length_of(p);
  if (total < rdma_offset::payload || total > frame.size() - ethernet_header_bytes) {
    return RdmaError::wrong_length;
  }
  if (!fabric_header_checksum_ok(p)) {
    return RdmaError::wrong_checksum;
  }
  const FabricAddress dfa = dfa_of(p);
  if (dfa.is_multicast()) {
    return RdmaError::not_unicast;
  }
  if (p[portals_offset::command] != std::byte{rdma_command}) {
    return RdmaError::not_rdma;
  }
  const std::byte* const r = p + rdma_offset::header;
  const auto first = std::to_integer<unsigned>(r[0]);
  if (first >> 4 != rdma_version) {
    return RdmaError::unknown_version;
  }
  const unsigned kind = first & 0xFU;
  if (kind == 0 || kind >= rdma_kinds) {
    return RdmaError::unknown_kind;
  }
  const auto mark = std::to_integer<unsigned>(p[rdma_offset::mark]);
  const std::size_t payload = total - rdma_offset::payload;
  if (mark > 1 || (mark == 1 && payload != 0)) {
    return RdmaError::wrong_mark;
  }
  Crc32c crc = rdma_detail::crc_of_header(p);
  if (mark == 1) {
    if (static_cast<std::uint16_t>(crc.value()) !=
        load_le<std::uint16_t>(p + rdma_offset::header_check)) {
      return RdmaError::bad_header_check;
    }
  } else {
    crc.add(p + rdma_offset::payload, payload);
    if (crc.value() != load_le<std::uint32_t>(r + rdma_offset::crc)) {
      return RdmaError::bad_crc;
    }
  }
  out.header = {.source = sfa_of(p).end_point(),
                .destination = dfa.end_point(),
                .vni = vni_of(p),
                .kind = static_cast<RdmaKind>(kind),
                .flags = std::to_integer<std::uint8_t>(r[rdma_offset::flags]),
                .dcid = load_le<std::uint16_t>(r + rdma_offset::dcid),
                .scid = load_le<std::uint16_t>(r + rdma_offset::scid),
                .generation = load_le<std::uint16_t>(r + rdma_offset::generation),
                .message = load_le<std::uint32_t>(r + rdma_offset::message),
                .pidx = load_le<std::uint32_t>(r + rdma_offset::pidx),
                .word = load_le<std::uint64_t>(r + rdma_offset::word),
                .value = load_le<std::uint32_t>(r + rdma_offset::value)};
  out.trimmed = mark == 1;
  out.payload = {p + rdma_offset::payload, payload};
  return RdmaError::none;
}

/// Whether a switch may cut this unicast frame after its header. Requires a fabric header.
inline bool is_trimmable(std::span<const std::byte> frame) {
  if (frame.size() <= rdma_overhead_bytes) {
    return false;
  }
  const std::byte* const p = frame.data() + ethernet_header_bytes;
  return p[portals_offset::command] == std::byte{rdma_command} &&
         total_length_of(p) > rdma_offset::payload &&
         (p[rdma_offset::header] & std::byte{0xF}) == static_cast<std::byte>(RdmaKind::wr);
}
/// Whether a switch has cut this unicast frame. Requires a fabric header.
inline bool is_trimmed(std::span<const std::byte> frame) {
  if (frame.size() < rdma_overhead_bytes) {
    return false;
  }
  const std::byte* const p = frame.data() + ethernet_header_bytes;
  return p[portals_offset::command] == std::byte{rdma_command} &&
         p[rdma_offset::mark] == std::byte{1} && total_length_of(p) == rdma_offset::payload &&
         (p[rdma_offset::header] & std::byte{0xF}) == static_cast<std::byte>(RdmaKind::wr);
}
/// Cuts it and returns its new length: a switch does this instead of dropping a frame. Requires
/// `is_trimmable`.
inline std::size_t trim(std::byte* frame) {
  std::byte* const p = frame + ethernet_header_bytes;
  p[rdma_offset::mark] = std::byte{1};
  store_be<std::uint16_t>(p + portals_offset::total_length, rdma_offset::payload);
  write_fabric_header_checksum(p);
  return rdma_overhead_bytes;
}

} // namespace tributary::wire
