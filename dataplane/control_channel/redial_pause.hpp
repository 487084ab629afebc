// How long to wait before the manager is dialled again: twice as long each time, less a random
// part, so that many switches do not come all at once.
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

  /// Between a half and the whole of the pause that it is the turn of.
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
