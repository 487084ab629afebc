// Where a fabric manager listens.
//
//   unix:/run/tributary/fabricd.sock
//   host:port                      https
//   http://host[:port][/path]      port 7580 unless given
//   https://host[:port][/path]     port 7580 unless given; [::1] for an IPv6 address
//
// Several, with commas between them: those of a leader and its standbys.
//
// Socket, host and port are written as everywhere (lib/net/address.hpp); with http a token crosses
// the network in clear text. A path is a prefix of every path of the API, for managers behind a
// proxy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::manager_client {

inline constexpr std::uint16_t default_port = 7580;

struct Address {
  enum class Scheme : std::uint8_t { unix_socket, http, https };
  Scheme scheme = Scheme::unix_socket;
  std::string host; ///< without brackets; the socket's path with `unix_socket`
  std::uint16_t port = default_port;
  std::string path; ///< "" or "/..." without a final slash

  /// The address as it was written, for messages.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Address&, const Address&) = default;
};

/// Throws std::invalid_argument with the error in `text` and the supported forms.
[[nodiscard]] Address parse_address(std::string_view text);

/// One or more, with commas between them. Throws std::invalid_argument, also for one that is there
/// twice.
[[nodiscard]] std::vector<Address> parse_addresses(std::string_view text);
/// As `parse_addresses` reads them.
[[nodiscard]] std::string text_of(const std::vector<Address>& addresses);

} // namespace tributary::manager_client
