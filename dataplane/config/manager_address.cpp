#include "dataplane/config/manager_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace tributary::config {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::string_view tcp_prefix = "tcp:";
/// What a sockaddr_un holds besides the terminating zero.
constexpr std::size_t longest_path = 107;

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), port);
  return error == std::errc() && end == text.end() && port != 0;
}

} // namespace

std::string parse_manager_address(std::string_view text, ManagerAddress& out) {
  if (text.starts_with(unix_prefix)) {
    text.remove_prefix(unix_prefix.size());
    if (text.empty() || text.size() > longest_path) {
      return fmt::format("a Unix socket needs a path of 1 to {} bytes behind \"unix:\"",
                         longest_path);
    }
    out = {.path = std::string(text), .host = {}, .service = {}};
    return {};
  }
  if (text.starts_with(tcp_prefix)) {
    text.remove_prefix(tcp_prefix.size());
  }
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return fmt::format("\"{}\" has several colons; write an IPv6 address in brackets, as in "
                       "\"[::1]:7581\"",
                       text);
  }
  if (colon == std::string_view::npos || host.empty() || !is_port(text.substr(colon + 1))) {
    return fmt::format("\"{}\" is no address; give \"unix:PATH\", \"HOST:PORT\" or \"[V6]:PORT\"",
                       text);
  }
  out = {.path = {}, .host = std::string(host), .service = std::string(text.substr(colon + 1))};
  return {};
}

} // namespace tributary::config
