// Division by the same number again and again: a multiplication, where a division takes several
// times as long.
//
//   n / d = n * ceil(2^64 / d) / 2^64, rounded down      exact while n * d < 2^64
#pragma once

#include <cstdint>

namespace tributary::pktgen::traffic {

class Divisor {
public:
  /// Above 0.
  explicit Divisor(std::uint64_t by)
      : by_(by), factor_(~std::uint64_t{0} / by + 1), end_(~std::uint64_t{0} / by) {}

  [[nodiscard]] std::uint64_t number() const { return by_; }
  [[nodiscard]] std::uint64_t quotient(std::uint64_t n) const {
    if (by_ == 1) {
      return n;
    }
    if (n >= end_) [[unlikely]] {
      return n / by_;
    }
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(n) * factor_ >> 64);
  }
  [[nodiscard]] std::uint64_t remainder(std::uint64_t n) const { return n - quotient(n) * by_; }

private:
  std::uint64_t by_;
  std::uint64_t factor_;
  std::uint64_t end_; ///< largest values for which the factor is exact
};

} // namespace tributary::pktgen::traffic
