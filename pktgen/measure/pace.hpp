// The schedule of an open loop: when each event is intended, however long the previous one took.
//
//   Pace pace(1e6, now);                       a million events a second, the first one now
//   while (pace.next() <= now) { send(pace.next()); pace.advance(); }
//
// An event may cost several units: for a rate in bits a second, `advance(bits of the frame)`.
//
// The time of the k-th unit is start + k / rate, rounded down to the nanosecond, with no error that
// grows: a rate is a binary fraction, so a unit takes exactly 10^9 * denominator / numerator
// nanoseconds, and the remainder of that division is carried from event to event as an integer.
#pragma once

#include "tributary/types.hpp"

#include <cstdint>

namespace tributary::pktgen::measure {

class Pace {
public:
  /// Units a second that can be asked for.
  static constexpr double slowest = 1e-6;
  static constexpr double fastest = 1e15;

  /// Throws std::invalid_argument unless `per_second` is in [slowest, fastest]: a closed loop has
  /// no pace.
  explicit Pace(double per_second, TimeNs start = {});

  /// Restarts the schedule, with its first event at `start`.
  void set_start(TimeNs start) {
    next_ = start;
    carried_ = 0;
  }

  /// When the next event is intended.
  [[nodiscard]] TimeNs next() const { return next_; }

  /// The next event is one unit after the one before.
  void advance() {
    next_.value += whole_;
    carried_ += part_;
    if (carried_ >= numerator_) {
      carried_ -= numerator_;
      ++next_.value;
    }
  }
  /// The next event is `units` after the one before.
  void advance(std::uint64_t units);

private:
  __extension__ using Wide = unsigned __int128;

  TimeNs next_;
  std::uint64_t numerator_; ///< of the rate; below 2^53
  /// A unit takes whole_ + part_ / numerator_ nanoseconds.
  std::uint64_t whole_;
  std::uint64_t part_;
  /// next_ lies carried_ / numerator_ nanoseconds before the exact time.
  std::uint64_t carried_ = 0;
};

} // namespace tributary::pktgen::measure
