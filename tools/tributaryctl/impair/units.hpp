// Rates as people write them, in the unit of the switch's configuration.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::cli {

/// "10M", "2.5G", "800k"; a bare number is in bits per second. Whole kilobits per second, not 0.
/// Throws std::invalid_argument, whose message says what would be right.
[[nodiscard]] std::uint64_t kilobits_of(const std::string& text);

} // namespace tributary::cli
