#include "endpoint/manager_client/address.hpp"

#include "lib/net/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tributary::manager_client {

namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::string_view http_prefix = "http://";
constexpr std::string_view https_prefix = "https://";

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument(
      fmt::format("\"{}\" is not an address of a fabric manager: {}; give unix:PATH, HOST:PORT, "
                  "http://HOST[:PORT] or https://HOST[:PORT]",
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
  } else if (text.find("://") == std::string_view::npos && text.find(':') != text.npos) {
    address.scheme = Address::Scheme::https; // HOST:PORT
  } else {
    refuse(text, "it has no port, and begins with neither unix:, http:// nor https://");
  }
  const std::size_t scheme = text.find("://");
  std::string_view rest = scheme == text.npos ? text : text.substr(scheme + 3);
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

std::vector<Address> parse_addresses(std::string_view text) {
  std::vector<Address> addresses;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view one = text.substr(begin, end - begin);
    while (one.starts_with(' ')) {
      one.remove_prefix(1);
    }
    while (one.ends_with(' ')) {
      one.remove_suffix(1);
    }
    Address address = parse_address(one);
    if (std::ranges::find(addresses, address) != addresses.end()) {
      refuse(text, fmt::format("{} is there twice", address.text()));
    }
    addresses.push_back(std::move(address));
    begin = end + 1;
  }
  return addresses;
}

std::string text_of(const std::vector<Address>& addresses) {
  std::string text;
  for (const Address& address : addresses) {
    text += (text.empty() ? "" : ",") + address.text();
  }
  return text;
}

} // namespace tributary::manager_client
