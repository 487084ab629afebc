// How late a switch has recently run: the effect of a machine with more work than cores, which its
// neighbours must tolerate. The longest delay counts, and half of it after each `half_life`.
#pragma once

#include "tributary/types.hpp"

#include <algorithm>
#include <cstdint>

namespace tributary::liveness {

class OwnDelay {
public:
  static constexpr std::uint64_t half_life_ns = 2 * ns_per_second;

  /// Delays up to `ignored_ns` are normal; a larger one counts as at most `longest_ns`.
  constexpr OwnDelay(std::uint64_t ignored_ns, std::uint64_t longest_ns)
      : ignored_ns_(ignored_ns), longest_ns_(std::max(ignored_ns, longest_ns)) {}

  /// It ran, `late_ns` after the intended time.
  constexpr void ran(TimeNs now, std::uint64_t late_ns) {
    if (ns_ != 0 && elapsed_ns(now, since_) >= half_life_ns) {
      ns_ = ns_ / 2 > ignored_ns_ ? ns_ / 2 : 0;
      since_ = now;
    }
    if (late_ns > ignored_ns_ && late_ns >= ns_) {
      ns_ = std::min(late_ns, longest_ns_);
      since_ = now;
    }
  }

  [[nodiscard]] constexpr std::uint64_t ns() const { return ns_; }

private:
  std::uint64_t ignored_ns_;
  std::uint64_t longest_ns_;
  std::uint64_t ns_ = 0;
  TimeNs since_{}; ///< last change of `ns_`
};

} // namespace tributary::liveness
