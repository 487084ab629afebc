#include "endpoint/manager/address.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

namespace tributary::manager_client {

namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::string_view http_prefix = "http://";
constexpr std::string_view https_prefix = "https://";

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument(fmt::format(
      "'{}' is no address of a fabric manager: {}; understood are unix:/path/to/socket, "
      "http://host:port and https://host:port",
      text, why));
}

std::uint16_t parse_port(std::string_view text, std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port == 0) {
    refuse(text, fmt::format("'{}' is no port, 1 to 65535", digits));
  }
  return port;
}

} // namespace

std::string Address::text() const {
  if (scheme == Scheme::unix_socket) {
    return std::string(unix_prefix) + host;
  }
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}{}:{}{}", scheme == Scheme::https ? https_prefix : http_prefix,
                     is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port, path);
}

Address parse_address(std::string_view text) {
  Address address;
  if (text.starts_with(unix_prefix)) {
    address.host = text.substr(unix_prefix.size());
    if (!address.host.starts_with('/')) {
      refuse(text, "the path of the socket must begin with a slash");
    }
    return address;
  }
  if (text.starts_with(https_prefix)) {
    address.scheme = Address::Scheme::https;
  } else if (text.starts_with(http_prefix)) {
    address.scheme = Address::Scheme::http;
  } else {
    refuse(text, "it begins with neither unix:, http:// nor https://");
  }
  std::string_view rest = text.substr(text.find("://") + 3);
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    address.path = rest.substr(slash);
    while (address.path.ends_with('/')) {
      address.path.pop_back();
    }
    rest = rest.substr(0, slash);
  }
  if (address.path.find_first_of("?# ") != std::string::npos) {
    refuse(text, "it has a query, a fragment or a space");
  }
  if (rest.starts_with('[')) {
    const std::size_t bracket = rest.find(']');
    if (bracket == std::string_view::npos) {
      refuse(text, "the bracket around the IPv6 address is not closed");
    }
    address.host = rest.substr(1, bracket - 1);
    rest = rest.substr(bracket + 1);
    if (!rest.empty() && !rest.starts_with(':')) {
      refuse(text, "behind the bracket only a port may follow");
    }
  } else {
    const std::size_t colon = rest.find(':');
    address.host = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon);
  }
  if (address.host.empty() || address.host.find_first_of("@ ") != std::string::npos) {
    refuse(text, "it names no host");
  }
  if (!rest.empty()) {
    address.port = parse_port(text, rest.substr(1));
  }
  return address;
}

} // namespace tributary::manager_client
