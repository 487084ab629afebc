#include "lib/terminal/units.hpp"

#include <fmt/format.h>

#include <array>

namespace tributary::terminal {

std::string duration_text(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  // The bounds are where rounding to three digits would reach the next unit.
  return ns < 1'000         ? fmt::format("{} ns", ns)
         : ns < 999'500     ? fmt::format("{:.3g} us", value / 1e3)
         : ns < 999'500'000 ? fmt::format("{:.3g} ms", value / 1e6)
                            : fmt::format("{:.1f} s", value / 1e9);
}

std::string quantity_text(double value, std::string_view unit) {
  constexpr std::array prefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  // 999,950 rounds to four digits as 1000 k.
  while (value >= 999.95 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.4g} {}{}", value, prefixes[prefix], unit);
}

std::string share_text(double share) {
  const double percent = share * 100;
  return percent != 0 && percent < 0.01 ? fmt::format("{:.2g} %", percent)
                                        : fmt::format("{:.2f} %", percent);
}

} // namespace tributary::terminal
