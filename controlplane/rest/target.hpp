// The target of a request line, "/api/v1/groups/j1/demo/members?wait=500", taken apart. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::rest {

struct Target {
  /// Between the slashes, decoded. Empty ones are left out, so that "/a/" and "//a" are "/a".
  std::vector<std::string> segments;
  std::vector<std::pair<std::string, std::string>> query;

  /// The value of the first parameter with this name.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
};

/// Takes "/path?query" and, as proxies send it, "http://host/path?query". Throws RequestError when
/// it is neither, a percent sign is not followed by two hex digits, or what was decoded is not
/// UTF-8 or holds control characters.
[[nodiscard]] Target parse_target(std::string_view text);

/// Whether the text is UTF-8 without control characters: something that can be shown and stored.
[[nodiscard]] bool is_printable(std::string_view text);

} // namespace tributary::rest
