// The target of a request line, "/api/v1/groups/j1/demo/members?wait=500", parsed. Pure.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::api {

struct Target {
  /// Segments between the slashes, decoded. Empty ones are left out, so that "/a/" and "//a" are
  /// "/a".
  std::vector<std::string> segments;
  std::vector<std::pair<std::string, std::string>> query;

  /// The value of the first parameter with this name.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
};

/// Parses "/path?query" and, as proxies send it, "http://host/path?query". Throws RequestError when
/// the text is neither, has a segment "." or "..", a percent sign is not followed by two hex
/// digits, or the decoded text is not UTF-8 or holds control characters.
[[nodiscard]] Target parse_target(std::string_view text);

/// The name as one segment of a path, percent-encoded: `parse_target` decodes it.
[[nodiscard]] inline std::string segment_of(std::string_view name) {
  constexpr std::string_view unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-._~";
  std::string segment;
  for (const char c : name) {
    if (unreserved.find(c) != std::string_view::npos) {
      segment += c;
    } else {
      segment += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return segment;
}

} // namespace tributary::api
