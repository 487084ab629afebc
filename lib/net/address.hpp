// The address of a service: the one grammar of all configuration keys and options that name one.
//
//   address   = "unix:" PATH                     1 to 107 bytes; a leading '/' or relative
//             | [ "tcp:" ] host-port
//   host-port = HOST ":" PORT | "[" V6 "]" ":" PORT
//   HOST      = a name or an IPv4 address
//   V6        = an IPv6 address, with "%INTERFACE" where it needs one
//   PORT      = 1 to 65535; to listen also 0, which selects a free one
//
// Listeners may omit HOST: ":7580" is every address of this machine. Longer forms, such as URLs,
// take host and port apart with `parse_host_port`.
//
// Pure: nothing is looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary::net {

/// Bytes of the path of a Unix socket (sockaddr_un, without the zero at its end).
inline constexpr std::size_t longest_socket_path = 107;

/// what() contains the text, the problem and the valid forms; `reason` is only the problem, for
/// callers that add more.
class AddressError : public std::invalid_argument {
public:
  AddressError(std::string_view text, std::string reason);
  [[nodiscard]] const std::string& reason() const { return reason_; }

private:
  std::string reason_;
};

enum class Purpose : std::uint8_t { dial, listen };

struct HostPort {
  std::string host; ///< without brackets; "": every address of this machine
  std::uint16_t port = 0;

  /// "fabric.example:7581", "[::1]:7581"
  [[nodiscard]] std::string text() const;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// Throws AddressError. Without a default the port is required.
[[nodiscard]] HostPort parse_host_port(std::string_view text, Purpose purpose,
                                       std::optional<std::uint16_t> default_port = std::nullopt);

struct Address {
  std::string path; ///< of a Unix socket; "" with TCP
  HostPort tcp;     ///< empty with a Unix socket

  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  /// Whether every process that can reach it runs on this machine: a Unix socket, or a loopback
  /// address.
  [[nodiscard]] bool is_local() const;
  /// The shortest valid spelling.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Address&, const Address&) = default;
};

/// Throws AddressError.
[[nodiscard]] Address parse_address(std::string_view text, Purpose purpose);

} // namespace tributary::net
