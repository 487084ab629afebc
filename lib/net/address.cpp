#include "lib/net/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace tributary::net {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::string_view tcp_prefix = "tcp:";

/// Escapes bytes that would garble a message, or end it early.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7F') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

/// Parses one host-port; its errors quote the whole text.
class Parser {
public:
  Parser(std::string_view whole, Purpose purpose) : whole_(whole), purpose_(purpose) {}

  [[noreturn]] void fail(std::string reason) const {
    throw AddressError(whole_, std::move(reason));
  }

  [[nodiscard]] HostPort host_port(std::string_view text,
                                   std::optional<std::uint16_t> default_port) const {
    const auto [host, port] = text.starts_with('[') ? bracketed(text) : plain(text);
    const char* const forbidden = std::ranges::find_if(host, stands_in_no_host);
    if (forbidden != host.end()) {
      fail(fmt::format("the host \"{}\" has a {} in it", host, name_of(*forbidden)));
    }
    if (!port && !default_port) {
      fail("the port is missing");
    }
    return {std::string(host), port ? number_of(*port) : *default_port};
  }

private:
  using Parts = std::pair<std::string_view, std::optional<std::string_view>>;

  static bool stands_in_no_host(char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7F' || c == '/' || c == '@' ||
           c == '[' || c == ']' || c == '"';
  }
  static std::string name_of(char c) {
    return c == ' '                                             ? "space"
           : static_cast<unsigned char>(c) < ' ' || c == '\x7F' ? "control character"
                                                                : fmt::format("'{}'", c);
  }

  [[nodiscard]] Parts bracketed(std::string_view text) const {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) {
      fail("the bracket around the IPv6 address is not closed");
    }
    const std::string_view host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (host.empty()) {
      fail("no IPv6 address in the brackets");
    }
    if (rest.empty()) {
      return {host, std::nullopt};
    }
    if (!rest.starts_with(':')) {
      fail("behind the brackets only \":PORT\" may follow");
    }
    return {host, rest.substr(1)};
  }

  [[nodiscard]] Parts plain(std::string_view text) const {
    const std::size_t colon = text.find(':');
    const std::string_view host = text.substr(0, colon);
    if (colon == std::string_view::npos) {
      if (host.empty()) {
        fail("it is empty");
      }
      return {host, std::nullopt};
    }
    if (text.substr(colon).starts_with("://")) {
      fail(fmt::format("\"{}://\" begins a URL, which is not understood here", host));
    }
    if (text.find(':', colon + 1) != std::string_view::npos) {
      fail("it has several colons; an IPv6 address must stand in brackets, as in \"[::1]:7581\"");
    }
    if (host.empty() && purpose_ == Purpose::dial) {
      fail("the host is missing");
    }
    return {host, text.substr(colon + 1)};
  }

  [[nodiscard]] std::uint16_t number_of(std::string_view digits) const {
    const int lowest = purpose_ == Purpose::dial ? 1 : 0;
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, port);
    if (error != std::errc{} || stop != end || port < lowest) {
      fail(digits.empty()
               ? std::string("the port is missing")
               : fmt::format("the port \"{}\" is not a number from {} to 65535", digits, lowest));
    }
    return port;
  }

  std::string_view whole_;
  Purpose purpose_;
};

} // namespace

AddressError::AddressError(std::string_view text, std::string reason)
    : std::invalid_argument(fmt::format("\"{}\" is not an address: {}; write \"unix:PATH\", "
                                        "\"HOST:PORT\" or \"[V6]:PORT\"",
                                        printable(text), printable(reason))),
      reason_(printable(reason)) {}

std::string HostPort::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

HostPort parse_host_port(std::string_view text, Purpose purpose,
                         std::optional<std::uint16_t> default_port) {
  return Parser(text, purpose).host_port(text, default_port);
}

bool Address::is_local() const {
  const bool loopback_v4 = tcp.host.starts_with("127.") &&
                           tcp.host.find_first_not_of("0123456789.") == std::string::npos;
  return is_unix() || loopback_v4 || tcp.host == "localhost" || tcp.host == "::1";
}

std::string Address::text() const {
  return is_unix() ? fmt::format("{}{}", unix_prefix, path)
                   // Without its prefix, a host of this name would be read as one.
                   : fmt::format("{}{}", tcp.host == "unix" || tcp.host == "tcp" ? tcp_prefix : "",
                                 tcp.text());
}

Address parse_address(std::string_view text, Purpose purpose) {
  const Parser parser(text, purpose);
  if (text.starts_with(unix_prefix)) {
    const std::string_view path = text.substr(unix_prefix.size());
    if (path.empty()) {
      parser.fail("the path of the socket is missing");
    }
    if (path.size() > longest_socket_path) {
      parser.fail(fmt::format("the path of a socket has at most {} bytes, not {}",
                              longest_socket_path, path.size()));
    }
    if (path.find('\0') != std::string_view::npos) {
      parser.fail("the path of the socket has a zero byte in it");
    }
    return {.path = std::string(path), .tcp = {}};
  }
  const bool prefixed = text.starts_with(tcp_prefix);
  const std::string_view rest = prefixed ? text.substr(tcp_prefix.size()) : text;
  return {.path = {}, .tcp = parser.host_port(rest, std::nullopt)};
}

} // namespace tributary::net
