// A member's counters. The comment behind each name is what a listing prints.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::reliable_multicast {

// clang-format off
#define TRIBUTARY_MULTICAST_COUNTERS(X)                                                            \
  X(operations,        "calls begun")                                                              \
  X(windows,           "windows complete at all members")                                          \
  X(rounds,            "acknowledgement results taken")                                            \
  X(rounds_with_holes, "acknowledgement results that lacked chunks")                               \
  X(chunks_sent,       "chunks sent for the first time")                                           \
  X(chunks_resent,     "chunks sent again, because a result lacked them")                          \
  X(chunks_received,   "chunks taken")                                                             \
  X(early,             "chunks kept because their window was not open here yet")                   \
  X(no_memory,         "chunks dropped because there was no memory to keep them")                  \
  X(duplicates,        "chunks that were here already")                                            \
  X(stale,             "chunks of windows that are complete")                                      \
  X(beyond_window,     "chunks of windows that cannot be open at their sender yet")                \
  X(wrong_owner,       "chunks of a rank that does not own them")                                  \
  X(wrong_length,      "chunks whose number or length does not fit the call")                      \
  X(wrong_source,      "chunks whose rank has another NID")                                        \
  X(acknowledged,      "acknowledgements sent")                                                    \
  X(with_holes,        "acknowledgements sent that lacked chunks")                                 \
  X(overtaken,         "acknowledgements that lacked chunks which others had overtaken")           \
  X(gaps,              "acknowledgements that lacked chunks after a time without data")            \
  X(by_data,           "windows known to be complete by data of a later one")                      \
  X(pieces_sent,       "contributions to pieces that are reduced")                                 \
  X(pieces_resent,     "contributions to pieces that were asked for again")                        \
  X(results,           "results of own pieces")                                                    \
  X(wrong_result,      "results that did not include each member once, or of another piece")       \
  X(requests_sent,     "leaf: requests for a result that may be lost")                             \
  X(requests_received, "root: requests for a lost result")                                         \
  X(replayed,          "root: results sent again because a leaf asked")                            \
  X(armed,             "root: sequences armed because the arm period was over")                    \
  X(retried,           "root: acknowledgements asked for again")                                   \
  X(roll_calls,        "root: questions past the engines, to find who lacks what")                 \
  X(refused,           "results that did not include each member once, or were of two windows")    \
  X(reordered,         "frames from above that were overtaken, or arrived twice")                  \
  X(late,              "acknowledgements of a sequence that is not the current one")               \
  X(malformed,         "frames that are neither shared frames nor acknowledgements")               \
  X(foreign,           "frames of another tree, VNI, cookie, range of ids or root")                \
  X(misdirected,       "frames that travel the other way, or came back from this host")            \
  X(outbox_full,       "acknowledgements that found no room in the outbox")
// clang-format on

struct Statistics {
#define TRIBUTARY_X(name, text) std::uint64_t name = 0;
  TRIBUTARY_MULTICAST_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  friend bool operator==(const Statistics&, const Statistics&) = default;
};

/// Calls `f(name, description, value)` for each counter.
template <typename F> void for_each_counter(const Statistics& statistics, F&& f) {
#define TRIBUTARY_X(name, text) f(std::string_view(#name), std::string_view(text), statistics.name);
  TRIBUTARY_MULTICAST_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
}

} // namespace tributary::reliable_multicast
