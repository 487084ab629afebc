// Ordered streams between two end points: the fields of STR and ACK frames in the RDMA header
// (rdma.hpp; docs/protocol/streams.md).
//
// STR has data of a stream. ACK has none: it says what has arrived, or is one of the steps by which
// a session begins and ends; its flags name the step.
//
//   header      STR, ACK without a step                  ACK with a step
//   DCID        credit: frames from `value` on that      OPEN, ACCEPT: the same, from 0 on
//               the receiver may send
//   SCID        how long the echoed stamp was held, us;  OPEN, ACCEPT: longest payload that the
//               0xFFFF: no stamp, or longer              sender takes, bytes
//   CGEN        frames that came twice, modulo 2^16      OPEN, ACCEPT, CLOSE: version of streams, 1
//   MSGID       name of the session at the receiver      the same; 0 in OPEN and UNKNOWN
//   PIDX        STR: number of the frame, from 0 on;     0
//               ACK: 0
//   word 31:0   STR: stamp of the sender, ns             OPEN, CHALLENGE: proof, 64 bits
//        63:32  echo: the newest stamp received
//   value       number of the frame expected next:       OPEN, ACCEPT: name of the session at the
//               all before it have been taken            sender. UNKNOWN: the unknown name
//
// After an ACK without a step comes a bitmap of 64-bit words: bit i says that frame `value` + 1 + i
// has arrived. After a STR come segments (segment.hpp).
//
// Pure: no I/O, no clock, no allocation.
#pragma once

#include "tributary/wire/rdma.hpp"

#include <cstdint>

namespace tributary::wire {

inline constexpr std::uint16_t stream_version = 1;

namespace stream_flag {
inline constexpr std::uint8_t open = 1;        ///< ACK: begins a session
inline constexpr std::uint8_t resent = 2;      ///< STR: a copy of one that was sent before
inline constexpr std::uint8_t accept = 4;      ///< ACK: the session has begun
inline constexpr std::uint8_t busy = 8;        ///< ACK: no session is free, ask later
inline constexpr std::uint8_t ack_please = 16; ///< answer at once, even without news
inline constexpr std::uint8_t challenge = 32;  ///< ACK: OPEN again, with this proof
inline constexpr std::uint8_t unknown = 64;    ///< ACK: there is no session of this name
inline constexpr std::uint8_t close = 128;     ///< ACK: the session has ended, or cannot begin
inline constexpr std::uint8_t steps = open | accept | busy | challenge | unknown | close;
} // namespace stream_flag

/// What both kinds say of the other direction.
struct StreamAnswer {
  static constexpr std::uint16_t no_echo = 0xFFFF;

  std::uint32_t expected = 0; ///< number of the next frame
  std::uint16_t credit = 0;   ///< frames from there on that may be sent
  std::uint32_t echo = 0;     ///< newest stamp
  std::uint16_t held_us = no_echo;
  std::uint16_t duplicates = 0;
};

constexpr StreamAnswer stream_answer_in(const RdmaHeader& h) {
  return {.expected = h.value,
          .credit = h.dcid,
          .echo = static_cast<std::uint32_t>(h.word >> 32),
          .held_us = h.scid,
          .duplicates = h.generation};
}
constexpr void put(const StreamAnswer& answer, std::uint32_t stamp, RdmaHeader& h) {
  h.value = answer.expected;
  h.dcid = answer.credit;
  h.word = std::uint64_t{answer.echo} << 32 | stamp;
  h.scid = answer.held_us;
  h.generation = answer.duplicates;
}
constexpr std::uint32_t stream_stamp_in(const RdmaHeader& h) {
  return static_cast<std::uint32_t>(h.word);
}

} // namespace tributary::wire
