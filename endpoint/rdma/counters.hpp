// A node's counters. The text behind each name is what a listing prints.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::rdma {

// clang-format off
#define TRIBUTARY_RDMA_COUNTERS(X)                                                                 \
  X(writes_begun,        "writes begun here")                                                      \
  X(reads_begun,         "reads begun here")                                                       \
  X(completed,           "writes and reads of this host that are done")                            \
  X(failed,              "writes and reads of this host that ended with an error")                 \
  X(accepted,            "writes of peers that were accepted")                                     \
  X(served,              "reads of peers that were accepted")                                      \
  X(placed,              "writes of peers that are placed in memory")                              \
  X(data_sent,           "data frames sent")                                                       \
  X(data_resent,         "of them, sent again because the sink asked")                             \
  X(bytes_sent,          "payload bytes sent, those sent again included")                          \
  X(control_sent,        "frames without data sent")                                               \
  X(requests_sent,       "RQT and RD_RQT sent")                                                    \
  X(resends_sent,        "RESEND sent")                                                            \
  X(progress_sent,       "PROG sent")                                                              \
  X(queries_sent,        "QUERY sent")                                                             \
  X(frames_received,     "frames that were handed in")                                             \
  X(data_placed,         "data frames whose payload was placed")                                   \
  X(bytes_placed,        "payload bytes placed")                                                   \
  X(trimmed,             "data frames that a switch has cut")                                      \
  X(resent_arrived,      "frames that were asked for and came as copies: real losses")             \
  X(late_arrived,        "frames that were asked for and came by themselves: they were only late") \
  X(sink_timeouts,       "time-outs of sinks")                                                     \
  X(request_timeouts,    "requests that were not answered in time")                                \
  X(quiet,               "times a source heard nothing and asked")                                 \
  X(restarts,            "transfers that restarted because the peer had forgotten them")          \
  X(busy_received,       "requests of this host that were answered by busy")                       \
  X(challenges_received, "requests of this host that a peer wants proof for")                      \
  X(incarnations,        "restarts of peers that were noticed")                                    \
  X(withheld,            "frames not sent: the peer has not shown yet that it is there")           \
  X(bad_crc,             "refused: a bit is not what the sender wrote")                            \
  X(malformed,           "refused: no RDMA frame, or cut off")                                     \
  X(unknown_kind,        "refused: a kind or version that there is not")                           \
  X(misdirected,         "refused: for another host, or from this one")                            \
  X(other_end_point,     "not for this program, but for another one of this host")                 \
  X(no_streams,          "refused: of a stream, and this program has none")                        \
  X(bad_request,         "refused: a request without its fields")                                  \
  X(zombie,              "refused: of a transfer that has ended, or never was")                    \
  X(wrong_generation,    "refused: of an earlier owner of the context")                            \
  X(foreign_vni,         "refused: for a context of another VNI")                                  \
  X(old_request,         "refused: a request older than what is known of its source")              \
  X(challenged,          "requests of peers that have to show first that they are there")          \
  X(beyond_end,          "refused: PIDX is not below N")                                           \
  X(above_window,        "refused: behind the end of the window")                                  \
  X(wrong_length,        "refused: not as long as this frame of this transfer is")                 \
  X(bad_bitmap,          "refused: a bitmap that is too long, or not of whole words")              \
  X(unsent_base,         "refused: says that frames have come which were never sent")              \
  X(excess_credit,       "credit beyond a window behind what has come; cut to that")                \
  X(duplicates,          "refused: has come before")                                               \
  X(stale_answers,       "refused: an answer to what is not being asked")                          \
  X(refused_key,         "requests of peers refused: wrong key")                                   \
  X(refused_bounds,      "requests of peers refused: outside the region")                          \
  X(refused_right,       "requests of peers refused: no right to do so")                           \
  X(refused_vni,         "requests of peers refused: the region is of another VNI")                \
  X(refused_length,      "requests of peers refused: N disagrees with the length")                 \
  X(refused_frame_size,  "requests of peers refused: no payload, or more than a frame holds")      \
  X(busy_contexts,       "requests of peers put off: the context table is full")                   \
  X(busy_records,        "requests of peers put off: too many transfers are remembered")           \
  X(busy_peers,          "requests of peers put off: too many peers")                              \
  X(busy_shares,         "requests of peers put off: the peer, or its VNI, has its share")         \
  X(busy_completions,    "requests of peers put off: immediate data that were not taken")        \
  X(aborted,             "transfers that this host ended before they were done")                   \
  X(aborted_by_peer,     "transfers that the peer ended before they were done")                    \
  X(replies_full,        "answers that found no room; the peer asks again")                        \
  X(exceptions_lost,     "exceptions that were not taken")
// clang-format on

struct Counters {
#define TRIBUTARY_X(name, text) std::uint64_t name = 0;
  TRIBUTARY_RDMA_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  friend bool operator==(const Counters&, const Counters&) = default;
};

/// Calls `f(name, description, value)` for each counter.
template <typename F> void for_each_counter(const Counters& counters, F&& f) {
#define TRIBUTARY_X(name, text) f(std::string_view(#name), std::string_view(text), counters.name);
  TRIBUTARY_RDMA_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
}

} // namespace tributary::rdma
