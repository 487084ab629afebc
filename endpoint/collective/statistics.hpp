// A member's counters. The comment behind each name is what a listing prints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::collective {

// clang-format off
#define TRIBUTARY_MEMBER_COUNTERS(X)                                                               \
  X(injected,          "pieces begun")                                                             \
  X(completed,         "pieces completed here")                                                    \
  X(full,              "root: reductions completed by one frame")                                  \
  X(partial,           "root: reductions completed by several frames, some of them combined")      \
  X(unreduced,         "root: reductions completed by single contributions alone")                 \
  X(in_switch,         "root: reductions whose result the switch multicast itself")                 \
  X(refused,           "in-switch results that were incomplete, or not waited for")     \
  X(lost_results,      "reports that a leaf has a result which the root missed")                   \
  X(won_on_first,      "root: reductions that the first tree completed")                           \
  X(won_on_second,     "root: reductions that the second of two trees completed")                  \
  X(reduction_frames,  "root: frames that made up the completed reductions")                       \
  X(frames_sent,       "frames put into the outbox")                                               \
  X(frames_received,   "frames that were handed in")                                               \
  X(armed,             "root: sequences armed because the arm period was over, or ahead of it")    \
  X(retried,           "root: retries because contributions were missing or counted twice")        \
  X(roll_calls,        "root: retries without the engines, to find the members that answer")                  \
  X(double_counted,    "root: full counts that did not include each member once, and were refused") \
  X(overdue,           "pieces asked for because a later one had completed")                       \
  X(requests_received, "root: requests for a lost result")                                         \
  X(replayed,          "root: results sent again because a leaf asked")                            \
  X(resent,            "leaf: contributions sent again because the root asked")                    \
  X(recovered,         "leaf: results that came with a retry")                                     \
  X(requests_sent,     "leaf: requests for a result that may be lost")                             \
  X(pre_arms,          "leaf: pre-arms heard")                                                     \
  X(reordered,         "leaf: frames from above that were overtaken, or arrived twice")               \
  X(stale,             "contributions to, or results of, a sequence that is not the current one")  \
  X(lagging,           "root: contributions to a sequence that the other tree completed")          \
  X(malformed,         "frames that are not reduction frames, or carry a reserved opcode")         \
  X(foreign,           "frames of another tree, VNI, cookie, range of ids or root")               \
  X(misdirected,       "frames that travel the other way, or came back from this host")            \
  X(outbox_full,       "frames that found no room in the outbox")
// clang-format on

struct Statistics {
#define TRIBUTARY_X(name, text) std::uint64_t name = 0;
  TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  friend bool operator==(const Statistics&, const Statistics&) = default;
};

/// Calls `f(name, description, value)` for each counter.
template <typename F> void for_each_counter(const Statistics& statistics, F&& f) {
#define TRIBUTARY_X(name, text) f(std::string_view(#name), std::string_view(text), statistics.name);
  TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
}

} // namespace tributary::collective
