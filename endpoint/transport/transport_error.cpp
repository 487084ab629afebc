#include "endpoint/transport/transport_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace tributary::transport {

TransportError transport_error(int error_number, const std::string& interface,
                               const std::string& doing) {
  using Kind = TransportError::Kind;
  switch (error_number) {
  case ENODEV:
  case ENXIO:
    return {Kind::no_interface,
            fmt::format("interface '{}' does not exist in this network namespace (while {}); "
                        "`ip link` lists those that do",
                        interface, doing)};
  case ENETDOWN:
    return {Kind::interface_down,
            fmt::format("interface '{}' is down (while {}); bring it up with `ip link set {} up`",
                        interface, doing, interface)};
  case EPERM:
  case EACCES:
    return {Kind::not_permitted,
            fmt::format("no permission for a raw socket on '{}' (while {}): give the program the "
                        "capability CAP_NET_RAW, with `setcap cap_net_raw+ep PROGRAM`, or run it "
                        "as root",
                        interface, doing)};
  default:
    return {Kind::system, fmt::format("interface '{}': {} (while {})", interface,
                                      std::generic_category().message(error_number), doing)};
  }
}

} // namespace tributary::transport
