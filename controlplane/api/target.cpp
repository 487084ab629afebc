#include "controlplane/api/target.hpp"

#include "controlplane/api/request_error.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace tributary::api {
namespace {

std::string decoded(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    std::uint8_t byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text.size() - i < 3 || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
      throw RequestError("a % in the path or query is not followed by two hex digits; write %25 "
                         "for the sign itself");
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  if (!is_printable(out)) {
    throw RequestError("the path or query holds control characters, or is not UTF-8");
  }
  return out;
}

/// Returns the text before the first `mark`; `text` becomes the rest behind it.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return head;
}

} // namespace

std::optional<std::string_view> Target::parameter(std::string_view name) const {
  const auto found =
      std::find_if(query.begin(), query.end(), [&](const auto& p) { return p.first == name; });
  return found == query.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

Target parse_target(std::string_view text) {
  if (const std::size_t scheme = text.find("://");
      scheme != std::string_view::npos && text.substr(0, scheme).find('/') == text.npos) {
    text.remove_prefix(scheme + 3);
    text.remove_prefix(std::min(text.find('/'), text.size()));
  }
  if (!text.starts_with('/')) {
    throw RequestError("the request's target is not a path that begins with a slash");
  }
  Target target;
  text = text.substr(0, text.find('#'));
  std::string_view path = cut(text, '?');
  while (!path.empty()) {
    if (const std::string_view segment = cut(path, '/'); !segment.empty()) {
      target.segments.push_back(decoded(segment, false));
      if (is_dot_segment(target.segments.back())) {
        throw RequestError("the path has a \".\" or \"..\" between its slashes; no path has these");
      }
    }
  }
  while (!text.empty()) {
    std::string_view value = cut(text, '&');
    if (!value.empty()) {
      const std::string_view name = cut(value, '=');
      target.query.emplace_back(decoded(name, true), decoded(value, true));
    }
  }
  return target;
}

} // namespace tributary::api
