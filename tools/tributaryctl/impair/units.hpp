// Probabilities, times and rates as people write them, in the units of the switch's configuration.
// Each function throws std::invalid_argument, whose message says what is wrong with the text and
// what would be right.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::cli {

/// "1%", "0.5 %" or "0.01": 0 to 1.
[[nodiscard]] double probability_of(const std::string& text);
/// "100us", "1.5ms", "2s"; a bare number is in microseconds. Whole microseconds.
[[nodiscard]] std::uint64_t microseconds_of(const std::string& text);
/// "10M", "2.5G", "800k"; a bare number is in bits per second. Whole kilobits per second, not 0.
[[nodiscard]] std::uint64_t kilobits_of(const std::string& text);

} // namespace tributary::cli
