// What a STR carries (stream.hpp): one segment after the other, each with a header of 16 bytes and
// more fields by its kind and flags, and then data. All little-endian.
//
//   off size field    in
//     0   1  kind
//     1   1  flags
//     2   2  bytes of data after the fields
//     4   4  number   of the sender's operation, for DONE and RESULT; 0 if there is none
//     8   8  tag      EAGER, RTS; 0 without the flag `tagged`. DONE, RESULT: status in 7:0.
//                     ATOMIC: where in the receiver's region
//    16   8  data     EAGER, RTS, ATOMIC with the flag `data`: of the sender's program, for the
//                     receiver's
//        8   total    EAGER without `whole`, RTS: bytes of the message.
//                     ATOMIC: operation in 7:0, type in 15:8, number of elements in 31:16
//        8   key      RTS: of the sender's region, from which the message is read.
//                     ATOMIC: of the receiver's region
//
// A message that is short goes as EAGER, in one segment or with MORE behind it; the messages of a
// stream do not interleave. Of a long one only RTS goes, and its receiver reads it (RDMA read).
// ATOMIC is done to memory of the receiver when it comes; its data are the operands, then what is
// compared. RESULT says so to its sender, with the old values if it `fetches`. A short write is the
// same: elements of a byte.
//
// Pure: no I/O, no clock, no allocation.
#pragma once

#include "tributary/wire/byte_order.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tributary::wire {

enum class SegmentKind : std::uint8_t {
  eager = 1, ///< a message, or its beginning
  more = 2,  ///< what follows of it
  rts = 3,   ///< a message that is to be read
  done = 4,  ///< to its sender: the message was received, or refused
  atomic = 5,
  result = 6, ///< to its sender: the atomic was done, or refused
};

namespace segment_flag {
inline constexpr std::uint8_t tagged = 1;
inline constexpr std::uint8_t data = 2;
inline constexpr std::uint8_t whole = 4;      ///< EAGER: nothing follows
inline constexpr std::uint8_t wants_done = 8; ///< EAGER: its sender waits for DONE
inline constexpr std::uint8_t fetches = 16;   ///< ATOMIC: RESULT has the old values
inline constexpr std::uint8_t all = 31;
} // namespace segment_flag

inline constexpr std::size_t segment_bytes = 16;
/// The longest header, of RTS or ATOMIC with data.
inline constexpr std::size_t longest_segment_header = segment_bytes + 24;

struct Segment {
  SegmentKind kind = SegmentKind::eager;
  std::uint8_t flags = 0;
  std::uint16_t length = 0; ///< of its data
  std::uint32_t number = 0;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  std::uint64_t total = 0;
  std::uint64_t key = 0;

  [[nodiscard]] constexpr bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Bytes before the data of a segment of this kind.
constexpr std::size_t header_bytes(SegmentKind kind, std::uint8_t flags) {
  const std::size_t data = (flags & segment_flag::data) != 0 ? 8 : 0;
  switch (kind) {
  case SegmentKind::eager:
    return segment_bytes + data + ((flags & segment_flag::whole) != 0 ? 0 : 8);
  case SegmentKind::rts:
  case SegmentKind::atomic: return segment_bytes + data + 16;
  case SegmentKind::more:
  case SegmentKind::done:
  case SegmentKind::result: break;
  }
  return segment_bytes;
}

/// Writes the header; returns its length. The data follows.
inline std::size_t encode(const Segment& s, std::byte* out) {
  out[0] = static_cast<std::byte>(s.kind);
  out[1] = std::byte{s.flags};
  store_le(out + 2, s.length);
  store_le(out + 4, s.number);
  store_le(out + 8, s.tag);
  std::size_t at = segment_bytes;
  const auto put = [&](auto value) {
    store_le(out + at, value);
    at += sizeof value;
  };
  const bool has_key = s.kind == SegmentKind::rts || s.kind == SegmentKind::atomic;
  if ((has_key || s.kind == SegmentKind::eager) && s.has(segment_flag::data)) {
    put(s.data);
  }
  if (has_key || (s.kind == SegmentKind::eager && !s.has(segment_flag::whole))) {
    put(s.total);
  }
  if (has_key) {
    put(s.key);
  }
  return at;
}

/// Reads the segment at the beginning of `bytes`; empty if there is not a whole one, or its kind
/// or flags are unknown. `header_bytes` says where its data begins.
[[nodiscard]] inline std::optional<Segment> decode_segment(std::span<const std::byte> bytes) {
  if (bytes.size() < segment_bytes) {
    return std::nullopt;
  }
  const std::byte* const p = bytes.data();
  const auto kind = std::to_integer<unsigned>(p[0]);
  Segment s;
  s.flags = std::to_integer<std::uint8_t>(p[1]);
  if (kind < static_cast<unsigned>(SegmentKind::eager) ||
      kind > static_cast<unsigned>(SegmentKind::result) || (s.flags & ~segment_flag::all) != 0) {
    return std::nullopt;
  }
  s.kind = static_cast<SegmentKind>(kind);
  s.length = load_le<std::uint16_t>(p + 2);
  s.number = load_le<std::uint32_t>(p + 4);
  s.tag = load_le<std::uint64_t>(p + 8);
  const std::size_t header = header_bytes(s.kind, s.flags);
  if (bytes.size() < header || bytes.size() - header < s.length) {
    return std::nullopt;
  }
  std::size_t at = segment_bytes;
  const auto take = [&]<typename T>(T& value) {
    value = load_le<T>(p + at);
    at += sizeof value;
  };
  const bool has_key = s.kind == SegmentKind::rts || s.kind == SegmentKind::atomic;
  if ((has_key || s.kind == SegmentKind::eager) && s.has(segment_flag::data)) {
    take(s.data);
  }
  if (has_key || (s.kind == SegmentKind::eager && !s.has(segment_flag::whole))) {
    take(s.total);
  } else if (s.kind == SegmentKind::eager) {
    s.total = s.length;
  }
  if (has_key) {
    take(s.key);
  }
  return s;
}

} // namespace tributary::wire
