// A session: a stream in either direction between this program and a peer.
//
// Numbers of frames rise modulo 2^32; `a` is before `b` if the distance is less than half of that.
//
//   outgoing    acked      sent       limit      next         incoming    expected    granted
//   ------------|----------|----------|----------|------      ------------|-----------|------
//    answered     in flight  may leave  waits                   taken        may come
#pragma once

#include "endpoint/rdma/path_estimate.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <string_view>

namespace tributary::streams {

/// Whether `a` is before `b`, modulo 2^32.
constexpr bool is_before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

enum class SessionState : std::uint8_t {
  unused,
  opening,  ///< OPEN was sent, or will be
  accepted, ///< the peer's OPEN was accepted; it has not shown that it knows
  open,
  ended, ///< its owner has to take it
};

// clang-format off
#define TRIBUTARY_STREAM_CAUSES(X)                                                                 \
  X(none,          "open")                                                                         \
  X(unreachable,   "the peer does not answer")                                                     \
  X(restarted,     "the peer knows nothing of the session: its program has restarted")             \
  X(closed,        "the peer has ended the session")                                               \
  X(busy,          "all sessions of the peer are in use")                                          \
  X(wrong_version, "the peer has another version of streams: both need the same release")          \
  X(abandoned,     "this program has ended the session")
// clang-format on

enum class Cause : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_STREAM_CAUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
};
constexpr std::string_view name_of(Cause cause) {
  switch (cause) {
#define TRIBUTARY_X(name, text)                                                                    \
  case Cause::name: return #name;
    TRIBUTARY_STREAM_CAUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}
constexpr std::string_view text_of(Cause cause) {
  switch (cause) {
#define TRIBUTARY_X(name, text)                                                                    \
  case Cause::name: return text;
    TRIBUTARY_STREAM_CAUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

/// Frames without data to be sent as soon as there is room.
namespace session_wants {
inline constexpr std::uint8_t open = 1;
inline constexpr std::uint8_t accept = 2;
inline constexpr std::uint8_t answer = 4;
inline constexpr std::uint8_t probe = 8; ///< an answer that asks for one
} // namespace session_wants

struct Session {
  EndPoint peer;
  Vni vni;
  SessionState state = SessionState::unused;
  Cause cause = Cause::none; ///< of an ended one
  std::uint8_t wants = 0;
  bool blocked = false; ///< the owner takes no frame at present
  bool has_echo = false;
  bool owned = false;          ///< the owner knows it: it is not forgotten without a word
  std::uint32_t own_name = 0;  ///< drawn, never 0: in frames to this program
  std::uint32_t peer_name = 0; ///< in frames to the peer
  std::uint64_t proof = 0;     ///< as the peer has given it
  std::uint16_t payload = 0;   ///< that both sides carry in a frame, bytes
  std::uint16_t retries = 0;   ///< in a row, without anything heard
  std::uint16_t stalls = 0;    ///< in a row, without progress
  std::uint16_t busy = 0;      ///< times that the peer was busy
  TimeNs retry_at = never;     ///< when OPEN or ACCEPT is sent again
  rdma::PathEstimate path;

  // Outgoing.
  std::uint32_t acked = 0; ///< all before it have been taken there
  std::uint32_t sent = 0;  ///< the first that was never sent
  std::uint32_t next = 0;  ///< the first that was not written yet
  std::uint32_t limit = 0; ///< credit
  std::uint16_t in_flight = 0;
  std::uint16_t lost = 0; ///< to be sent again
  std::uint16_t peer_duplicates = 0;
  std::uint32_t newest_arrived = 0; ///< of those that have arrived the one sent last, and when
  TimeNs newest_sent_at;
  TimeNs lost_check_at = never;
  TimeNs quiet_since; ///< of the last progress, or when the wait for it began

  // Incoming.
  std::uint32_t expected = 0;
  std::uint32_t granted = 0; ///< credit given: frames before it may come
  std::uint16_t span = 0;    ///< frames that it may be ahead at present
  std::uint16_t unanswered = 0;
  std::uint16_t held = 0;
  std::uint16_t duplicates = 0;
  std::uint32_t echo = 0;
  TimeNs echo_at;
  TimeNs answer_at = never; ///< an answer is due, unless it travels with data before
  TimeNs heard_at;

  [[nodiscard]] bool waits_for_credit() const {
    return sent != next && !is_before(sent, limit) && in_flight == 0 && lost == 0;
  }
};

} // namespace tributary::streams
