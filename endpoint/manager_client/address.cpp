#include "endpoint/manager_client/address.hpp"

#include "lib/net/address.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

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

} // namespace

std::string Address::text() const {
  if (scheme == Scheme::unix_socket) {
    return std::string(unix_prefix) + host;
  }
  return fmt::format("{}{}{}", scheme == Scheme::https ? https_prefix : http_prefix,
                     net::HostPort{host, port}.text(), path);
}

Address parse_address(std::string_view text) {
  Address address;
  if (text.starts_with(unix_prefix)) {
    try {
      address.host = net::parse_address(text, net::Purpose::dial).path;
    } catch (const net::AddressError& error) {
      refuse(text, error.reason());
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
  try {
    auto [host, port] = net::parse_host_port(rest, net::Purpose::dial, default_port);
    address.host = std::move(host);
    address.port = port;
  } catch (const net::AddressError& error) {
    refuse(text, error.reason());
  }
  return address;
}

} // namespace tributary::manager_client
