// Counters of streams. The text behind each name is what a listing prints.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::streams {

// clang-format off
#define TRIBUTARY_STREAM_COUNTERS(X)                                                               \
  X(opened,          "sessions that have begun")                                                   \
  X(ended,           "sessions that have ended, however")                                          \
  X(sent,            "data frames sent, copies not included")                                      \
  X(resent,          "copies of data frames sent")                                                 \
  X(answers_sent,    "ACK sent")                                                                   \
  X(received,        "data frames taken, in order")                                                \
  X(held,            "data frames that came before others and waited for them")                    \
  X(timeouts,        "times that nothing was heard for too long")                                  \
  X(probes,          "times that a peer was asked whether it is there")                            \
  X(challenged,      "peers that have to show first that they are there")                          \
  X(duplicates,      "refused: has come before")                                                   \
  X(above_window,    "refused: behind the end of the window")                                      \
  X(no_room,         "put off: frames that wait for others, or for the program, fill their room")  \
  X(wrong_length,    "refused: no data, or more than a frame holds")                               \
  X(unknown_session, "refused: of a session that has ended, or never was")                         \
  X(early,           "refused: before the session has begun here")                                 \
  X(unsent_ack,      "refused: says that frames have come which were never sent")                  \
  X(excess_credit,   "credit beyond a window; cut to that")                                        \
  X(bad_bitmap,      "refused: a bitmap that is too long, or not of whole words")                  \
  X(wrong_proof,     "refused: a proof that this host has not given")                              \
  X(wrong_version,   "refused: another version of streams")                                        \
  X(wrong_step,      "refused: no step, or several at once, or one that does not fit")             \
  X(busy,            "peers put off: all sessions are in use")                                     \
  X(busy_received,   "times that a peer has put off this host")                                    \
  X(replies_full,    "answers that found no room; the peer asks again")
// clang-format on

struct Counters {
#define TRIBUTARY_X(name, text) std::uint64_t name = 0;
  TRIBUTARY_STREAM_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  friend bool operator==(const Counters&, const Counters&) = default;
};

/// Calls `f(name, description, value)` for each counter.
template <typename F> void for_each_counter(const Counters& counters, F&& f) {
#define TRIBUTARY_X(name, text) f(std::string_view(#name), std::string_view(text), counters.name);
  TRIBUTARY_STREAM_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
}

} // namespace tributary::streams
