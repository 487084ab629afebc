#include "pktgen/measure/pace.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace tributary::pktgen::measure {

Pace::Pace(double per_second, TimeNs start) : next_(start) {
  if (!(per_second >= slowest && per_second <= fastest)) {
    throw std::invalid_argument("a rate must lie between 1e-6 and 1e15 a second");
  }
  // per_second == numerator_ / 2^shift, exactly.
  constexpr int digits = std::numeric_limits<double>::digits;
  int exponent = 0;
  numerator_ = static_cast<std::uint64_t>(std::ldexp(std::frexp(per_second, &exponent), digits));
  const int shift = digits - exponent; // from 3 for the fastest to 72 for the slowest
  const Wide nanoseconds = Wide{1'000'000'000} << shift;
  whole_ = static_cast<std::uint64_t>(nanoseconds / numerator_);
  part_ = static_cast<std::uint64_t>(nanoseconds % numerator_);
}

void Pace::advance(std::uint64_t units) {
  const Wide parts = Wide{part_} * units + carried_;
  next_.value += whole_ * units + static_cast<std::uint64_t>(parts / numerator_);
  carried_ = static_cast<std::uint64_t>(parts % numerator_);
}

} // namespace tributary::pktgen::measure
