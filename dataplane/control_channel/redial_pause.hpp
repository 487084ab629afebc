// The pause before the manager is dialled again: it doubles each time, less a random part, so that
// many switches do not all connect at the same time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace tributary::control_channel {

class RedialPause {
public:
  using Duration = std::chrono::milliseconds;

  RedialPause(Duration first, Duration longest, std::uint64_t seed)
      : first_(first), longest_(longest), pause_(first), random_(seed) {}

  /// Between a half and the whole of the current pause.
  [[nodiscard]] Duration next() {
    const Duration whole = pause_;
    pause_ = std::min(pause_ * 2, longest_);
    return Duration(
        std::uniform_int_distribution<Duration::rep>(whole.count() / 2, whole.count())(random_));
  }
  void start_over() { pause_ = first_; }

private:
  Duration first_;
  Duration longest_;
  Duration pause_;
  std::mt19937_64 random_;
};

} // namespace tributary::control_channel
