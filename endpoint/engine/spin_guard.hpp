// Whether a caller that waits for frames may look for them for a while before it sleeps.
//
// Between two looks it yields the processor. While the processes that wait for it are its own
// peers, which work for some microseconds and then wait themselves, that saves the sender of the
// frame the wake-up, and costs nothing. But a program that computes keeps a yielded processor for a
// whole time slice, some milliseconds, whereas a sleeper that is woken gets it back immediately.
//
//   away for a slice (0.5 ms)       the next 16 waits sleep; after each further time twice as many,
//                                   up to 4,096
//   64 waits without that           half as many, the next time
//
// Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tributary::engine {

class SpinGuard {
public:
  /// Longer than peers work on a few frames, shorter than the time slice of a computing program.
  static constexpr std::uint64_t slice_ns = 500'000;
  static constexpr unsigned fewest_sleeps = 16;
  static constexpr unsigned most_sleeps = 4096;
  static constexpr unsigned good_waits = 64;

  /// `away_ns`: an absence of at least this length counts as a slice, or several.
  explicit SpinGuard(std::uint64_t away_ns = slice_ns) : away_ns_(away_ns) {}

  /// Call it once for each wait.
  [[nodiscard]] bool may_spin() {
    if (to_sleep_ == 0) {
      return true;
    }
    --to_sleep_;
    return false;
  }

  /// This time has passed between two looks. Returns whether this wait had better sleep.
  [[nodiscard]] bool was_away(std::uint64_t time_ns) {
    if (time_ns < away_ns_) {
      return false;
    }
    to_sleep_ = next_sleeps_;
    next_sleeps_ = std::min(2 * next_sleeps_, most_sleeps);
    good_ = 0;
    return true;
  }

  /// A wait has spun and was never interrupted for long.
  void undisturbed() {
    if (++good_ == good_waits) {
      good_ = 0;
      next_sleeps_ = std::max(next_sleeps_ / 2, fewest_sleeps);
    }
  }

private:
  std::uint64_t away_ns_;
  unsigned to_sleep_ = 0;                ///< number of waits that sleep without looking first
  unsigned next_sleeps_ = fewest_sleeps; ///< the next value of `to_sleep_`
  unsigned good_ = 0;                    ///< undisturbed waits in a row
};

} // namespace tributary::engine
