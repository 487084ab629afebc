// An address to listen on, as it stands in a configuration file. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::rest {

struct ListenAddress {
  std::string path; ///< of a Unix socket; "" for TCP
  std::string host; ///< a name or an IP address, without brackets
  std::uint16_t port = 0;
};

/// Takes "unix:PATH", "HOST:PORT" and "[V6]:PORT". Throws ListenError (server.hpp), which says
/// what is wrong with it.
[[nodiscard]] ListenAddress parse_listen_address(std::string_view text);

} // namespace tributary::rest
