// Whether a caller that waits for frames may look for them for a while before it sleeps.
//
// Between two looks it yields the processor. While those that wait for it are its own peers, which
// work for some microseconds and then wait themselves, that saves whoever sends the frame the
// waking up, and costs nothing. But a program that computes keeps a processor that is yielded to it
// for a whole time slice, some milliseconds, whereas a sleeper that is woken gets it back at once.
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
  /// Longer than peers work on a few frames, shorter than the slice of whoever computes.
  static constexpr std::uint64_t slice_ns = 500'000;
  static constexpr unsigned fewest_sleeps = 16;
  static constexpr unsigned most_sleeps = 4096;
  static constexpr unsigned good_waits = 64;

  /// `away_ns`: who is away for so long was away for a slice, or for several.
  explicit SpinGuard(std::uint64_t away_ns = slice_ns) : away_ns_(away_ns) {}

  /// Asked once for each wait.
  [[nodiscard]] bool may_spin() {
    if (to_sleep_ == 0) {
      return true;
    }
    --to_sleep_;
    return false;
  }

  /// Between two looks so much time has passed. Answers whether this wait had better sleep.
  [[nodiscard]] bool was_away(std::uint64_t time_ns) {
    if (time_ns < away_ns_) {
      return false;
    }
    to_sleep_ = next_sleeps_;
    next_sleeps_ = std::min(2 * next_sleeps_, most_sleeps);
    good_ = 0;
    return true;
  }

  /// A wait has spun and was never away for long.
  void undisturbed() {
    if (++good_ == good_waits) {
      good_ = 0;
      next_sleeps_ = std::max(next_sleeps_ / 2, fewest_sleeps);
    }
  }

private:
  std::uint64_t away_ns_;
  unsigned to_sleep_ = 0;                ///< waits that are to sleep at once
  unsigned next_sleeps_ = fewest_sleeps; ///< what `to_sleep_` will be the next time
  unsigned good_ = 0;                    ///< undisturbed waits in a row
};

} // namespace tributary::engine
