// Effects of an impairment on one direction of one port. Written by the port's worker, read by any
// thread. Together with the frames held at the moment they add up: the frames that left are
//
//   frames + duplicated - lost - burst_lost - rate_limited - did_not_fit - (held now)
//
// `frames` counts the kinds that the impairment applies to; all others are not counted here.
#pragma once

#include "dataplane/core/counters.hpp"
#include "lib/statistics/counter_info.hpp"

#include <cstdint>

namespace tributary::impairment {

template <typename Value> struct Figures {
  Value frames{};
  Value lost{};
  Value burst_lost{};
  Value duplicated{};
  Value corrupted{};
  Value delayed{};
  Value reordered{};
  Value hold_expired{}; ///< included in `reordered`
  Value rate_delayed{};
  Value rate_limited{};
  Value did_not_fit{};
  Value no_buffer{};

  static constexpr auto warning = statistics::Mark::warning;
  static constexpr statistics::CounterRow<Figures, Value Figures::*> rows[] = {
      {&Figures::frames, {"frames", "Frames of the kinds that are impaired.", {}, {"FRAMES"}}},
      {&Figures::lost, {"lost", "Frames lost by chance.", {}, {"LOST", 0, warning}}},
      {&Figures::burst_lost,
       {"burst_lost", "Frames lost by the burst model.", {}, {"BURST LOST", 4, warning}}},
      {&Figures::duplicated, {"duplicated", "Copies made.", {}, {"DUPLICATED", 2, warning}}},
      {&Figures::corrupted,
       {"corrupted", "Frames with changed bits, including copies.", {}, {"CORRUPTED", 1, warning}}},
      {&Figures::delayed, {"delayed", "Frames that were delayed.", {}, {"DELAYED", 6}}},
      {&Figures::reordered,
       {"reordered", "Frames held back behind later ones.", {}, {"REORDERED", 3, warning}}},
      {&Figures::hold_expired,
       {"hold_expired", "Frames held back that fewer than `distance` frames passed in time."}},
      {&Figures::rate_delayed,
       {"rate_delayed", "Frames that waited for the rate limit.", {}, {"RATE DELAYED", 8}}},
      {&Figures::rate_limited,
       {"rate_limited",
        "Frames dropped because too much waited for the rate limit.",
        {},
        {"RATE LIMITED", 7, warning}}},
      {&Figures::did_not_fit,
       {"did_not_fit",
        "Frames dropped because too many were held.",
        {},
        {"DID NOT FIT", 9, warning}}},
      {&Figures::no_buffer,
       {"no_buffer", "Frames not duplicated or corrupted because no buffer was free for a copy."}},
  };
};

using Counters = Figures<core::Counter>;

/// The same as numbers, at one point in time.
struct Counts : Figures<std::uint64_t> {
  [[nodiscard]] std::uint64_t dropped() const {
    return lost + burst_lost + rate_limited + did_not_fit;
  }
};
static_assert(statistics::all_have_rows<Counts>);

/// Any thread.
inline Counts read(const Counters& counters) {
  Counts counts;
  core::add<Figures>(counts, counters);
  return counts;
}

} // namespace tributary::impairment
