#include "lib/link/link_error.hpp"

#include <fmt/format.h>

#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace tributary::link {

namespace {

/// "there are lo, eth0 and eth1", or as many of them as fit on a line.
std::string interfaces_there_are() {
  constexpr std::size_t most = 12;
  std::vector<std::string> names;
  const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> all(
      ::if_nameindex(), &::if_freenameindex);
  for (const struct if_nameindex* one = all.get(); one != nullptr && one->if_index != 0; ++one) {
    names.emplace_back(one->if_name);
  }
  if (names.empty()) {
    return "there are none";
  }
  const std::size_t shown = std::min(names.size(), most);
  std::string text = "there are " + names[0];
  for (std::size_t i = 1; i < shown; ++i) {
    text += (i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return shown == names.size() ? text : text + fmt::format(" and {} more", names.size() - shown);
}

} // namespace

LinkError link_error(int error_number, const std::string& interface, const std::string& doing) {
  using Kind = LinkError::Kind;
  switch (error_number) {
  case ENODEV:
  case ENXIO:
    return {Kind::no_interface,
            fmt::format("interface '{}' does not exist in this network namespace (while {}); {}, "
                        "as `ip link` lists them",
                        interface, doing, interfaces_there_are())};
  case ENETDOWN:
    return {Kind::interface_down,
            fmt::format("interface '{}' is down (while {}); bring it up with `ip link set {} up`",
                        interface, doing, interface)};
  case EPERM:
  case EACCES:
    return {
        Kind::not_permitted,
        fmt::format("no permission for a raw socket on '{}' (while {}): that needs CAP_NET_RAW; "
                    "run it as root, or on a compute node in a job that tributary-hostd knows",
                    interface, doing)};
  case EMSGSIZE:
    return {Kind::system,
            fmt::format("interface '{0}' does not carry frames of this length (while {1}); send "
                        "shorter ones, or raise its MTU with `ip link set {0} mtu BYTES`",
                        interface, doing)};
  default:
    return {Kind::system, fmt::format("interface '{}': {} (while {})", interface,
                                      std::generic_category().message(error_number), doing)};
  }
}

} // namespace tributary::link
