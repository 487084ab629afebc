#include "controlplane/rest/listen_address.hpp"

#include "controlplane/rest/server.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tributary::rest {

ListenAddress parse_listen_address(std::string_view text) {
  const auto fail = [&](std::string_view what) -> ListenError {
    return ListenError(fmt::format("listen address \"{}\": {}; write unix:PATH, HOST:PORT or "
                                   "[IPV6]:PORT",
                                   text, what));
  };
  ListenAddress address;
  if (constexpr std::string_view scheme = "unix:"; text.starts_with(scheme)) {
    address.path = text.substr(scheme.size());
    if (address.path.empty()) {
      throw fail("the path of the socket is missing");
    }
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) {
    throw fail("the port is missing");
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc{} || end != port.data() + port.size()) {
    throw fail("the port is not a number from 0 to 65535");
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    throw fail("an IPv6 address must stand in brackets");
  }
  if (host.empty()) {
    throw fail("the host is missing (0.0.0.0 or [::] are all addresses of this machine)");
  }
  address.host = host;
  return address;
}

} // namespace tributary::rest
