// Effects of an impairment on one direction of one port. Written by the port's worker, read by any
// thread. Together with the frames held at the moment they add up: the frames that left are
//
//   frames + duplicated - lost - burst_lost - rate_limited - did_not_fit - (held now)
//
// `frames` counts the kinds that the impairment applies to; all others are not counted here.
#pragma once

#include "dataplane/core/counter.hpp"

#include <cstdint>

namespace tributary::impairment {

// clang-format off
#define TRIBUTARY_IMPAIRMENT_COUNTERS(X)                                                           \
  X(frames,       "frames of the kinds it is for")                                                 \
  X(lost,         "lost by chance")                                                                \
  X(burst_lost,   "lost by the burst model")                                                       \
  X(duplicated,   "copies made")                                                                   \
  X(corrupted,    "frames with changed bits, copies among them")                                   \
  X(delayed,      "given a delay")                                                                 \
  X(reordered,    "held back behind later frames")                                                 \
  X(hold_expired, "of those, passed by fewer than the distance in time")                           \
  X(rate_delayed, "that had to wait for the rate limit")                                           \
  X(rate_limited, "dropped: too much waited for the rate limit")                                   \
  X(did_not_fit,  "dropped: too many frames were held")                                            \
  X(no_buffer,    "not duplicated or not corrupted: no buffer was free for a copy")
// clang-format on

struct Counters {
#define TRIBUTARY_X(name, text) core::Counter name;
  TRIBUTARY_IMPAIRMENT_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
};

/// The same as numbers, at one point in time.
struct Counts {
#define TRIBUTARY_X(name, text) std::uint64_t name = 0;
  TRIBUTARY_IMPAIRMENT_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X

  [[nodiscard]] std::uint64_t dropped() const {
    return lost + burst_lost + rate_limited + did_not_fit;
  }
  /// Calls `f(name, value)` for each, in the order of the table.
  template <typename F> void for_each(F&& f) const {
#define TRIBUTARY_X(name, text) f(#name, name);
    TRIBUTARY_IMPAIRMENT_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
};

/// Any thread.
inline Counts read(const Counters& counters) {
  Counts counts;
#define TRIBUTARY_X(name, text) counts.name = counters.name.read();
  TRIBUTARY_IMPAIRMENT_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  return counts;
}

} // namespace tributary::impairment
