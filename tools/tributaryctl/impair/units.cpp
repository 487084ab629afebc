#include "tools/tributaryctl/impair/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tributary::cli {
namespace {

/// The number at the front, and the text that follows it without blanks.
std::pair<double, std::string_view> split(const std::string& text, const char* wanted) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) {
    throw std::invalid_argument(fmt::format("\"{}\" is not a {}", text, wanted));
  }
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) {
    unit.remove_prefix(1);
  }
  return {value, unit};
}

/// A whole number of units; the text may have a fraction.
std::uint64_t whole(double value, const std::string& text, const char* wanted) {
  constexpr double most = 1e15;
  const double rounded = std::round(value);
  if (value > most || std::abs(value - rounded) > 1e-6 * std::max(1.0, value)) {
    throw std::invalid_argument(fmt::format("\"{}\" is not a {}", text, wanted));
  }
  return static_cast<std::uint64_t>(rounded);
}

} // namespace

std::uint64_t kilobits_of(const std::string& text) {
  constexpr const char* wanted = "rate; give bits per second with a unit, such as 800k, 10M, 2.5G";
  auto [value, unit] = split(text, wanted);
  if (unit.ends_with("bit")) {
    unit.remove_suffix(3);
  } else if (unit.ends_with("b/s")) {
    unit.remove_suffix(3);
  }
  const double factor = unit.empty()                 ? 1e-3
                        : unit == "k" || unit == "K" ? 1
                        : unit == "M"                ? 1e3
                        : unit == "G"                ? 1e6
                                                     : -1;
  const std::uint64_t kilobits = factor < 0 ? 0 : whole(value * factor, text, wanted);
  if (kilobits == 0) {
    throw std::invalid_argument(fmt::format("\"{}\" is not a {}", text, wanted));
  }
  return kilobits;
}

} // namespace tributary::cli
