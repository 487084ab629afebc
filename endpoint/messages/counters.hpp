// Counters of a messenger. The text behind each name is what a listing prints.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::messages {

// clang-format off
#define TRIBUTARY_MESSAGE_COUNTERS(X)                                                              \
  X(sent_eager,       "short messages sent")                                                       \
  X(sent_rendezvous,  "long messages offered to their receivers")                                  \
  X(received,         "messages received")                                                         \
  X(unexpected,       "messages that came before a receive was posted for them")                   \
  X(truncated,        "messages longer than the memory of their receive")                          \
  X(discarded,        "messages that the program has discarded")                                   \
  X(atomics,          "atomic operations of peers done here")                                      \
  X(blocked,          "times that messages without a receive filled their room; senders wait")     \
  X(stray_done,       "refused: says that an operation is done which does not wait for that")      \
  X(malformed,        "sessions ended: the peer has sent what is no message")                      \
  X(failed,           "operations that ended with an error")
// clang-format on

struct Counters {
#define TRIBUTARY_X(name, text) std::uint64_t name = 0;
  TRIBUTARY_MESSAGE_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  friend bool operator==(const Counters&, const Counters&) = default;
};

/// Calls `f(name, description, value)` for each counter.
template <typename F> void for_each_counter(const Counters& counters, F&& f) {
#define TRIBUTARY_X(name, text) f(std::string_view(#name), std::string_view(text), counters.name);
  TRIBUTARY_MESSAGE_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
}

} // namespace tributary::messages
