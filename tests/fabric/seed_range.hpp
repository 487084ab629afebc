// The seeds of a command line.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::fabric {

struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

/// Reads "A..B", both included, or "A"; returns whether it is either.
inline bool parse_seeds(const std::string& text, SeedRange& range) {
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc{}) {
    return false;
  }
  if (first.ptr == end) {
    range.last = range.first;
    return true;
  }
  if (std::string_view(first.ptr, end).substr(0, 2) != "..") {
    return false;
  }
  const auto last = std::from_chars(first.ptr + 2, end, range.last);
  return last.ec == std::errc{} && last.ptr == end && range.first <= range.last;
}

} // namespace tributary::fabric
