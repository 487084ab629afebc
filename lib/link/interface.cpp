#include "lib/link/interface.hpp"

#include "lib/link/link_error.hpp"
#include "lib/net/file_descriptor.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace tributary::link {
namespace {

/// A socket for kernel queries about an interface; one per query, so that it belongs to the current
/// namespace.
net::FileDescriptor query_socket(const std::string& interface, const std::string& doing) {
  net::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) {
    throw link_error(errno, interface, doing);
  }
  return socket;
}

std::optional<ifreq> request_for(const std::string& name) {
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name) {
    return std::nullopt;
  }
  std::memcpy(request.ifr_name, name.data(), name.size());
  return request;
}

/// Stores the answer in `request`; false if there is none.
bool ask(const std::string& name, unsigned long question, ifreq& request) {
  const net::FileDescriptor socket = query_socket(name, "asking the kernel about it");
  return ::ioctl(socket.get(), question, &request) == 0;
}

template <typename Command> bool ethtool(const std::string& name, Command& command) {
  return ask_ethtool(name, &command) == 0;
}

} // namespace

int ask_ethtool(const std::string& name, void* command) {
  auto request = request_for(name);
  if (!request) {
    return ENODEV;
  }
  request->ifr_data = static_cast<char*>(command);
  return ask(name, SIOCETHTOOL, *request) ? 0 : errno;
}

InterfaceFacts interface_facts(int socket, const std::string& interface, const std::string& doing) {
  auto request = request_for(interface);
  if (!request) {
    throw link_error(ENODEV, interface, doing);
  }
  const auto ask_through = [&](unsigned long question) {
    if (::ioctl(socket, question, &*request) != 0) {
      throw link_error(errno, interface, doing);
    }
  };
  InterfaceFacts facts;
  ask_through(SIOCGIFINDEX);
  facts.index = request->ifr_ifindex;
  ask_through(SIOCGIFFLAGS);
  facts.up = (request->ifr_flags & IFF_UP) != 0;
  ask_through(SIOCGIFMTU);
  facts.mtu = static_cast<std::uint32_t>(request->ifr_mtu);
  ask_through(SIOCGIFHWADDR);
  std::memcpy(facts.address.data(), request->ifr_hwaddr.sa_data, facts.address.size());
  return facts;
}

InterfaceFacts interface_facts(const std::string& interface, const std::string& doing) {
  return interface_facts(query_socket(interface, doing).get(), interface, doing);
}

InterfaceState interface_state(const std::string& name) {
  InterfaceState state;
  auto request = request_for(name);
  if (!request || !ask(name, SIOCGIFFLAGS, *request)) {
    return state;
  }
  state.up = (request->ifr_flags & IFF_UP) != 0;
  // The carrier itself: IFF_RUNNING follows it up to a second later, and frames sent meanwhile
  // would be lost.
  ethtool_value carrier{};
  carrier.cmd = ETHTOOL_GLINK;
  state.running = state.up && (ethtool(name, carrier) ? carrier.data != 0
                                                      : (request->ifr_flags & IFF_RUNNING) != 0);
  state.index = ::if_nametoindex(name.c_str());
  return state;
}

std::string interface_error(const std::string& name) {
  const InterfaceState state = interface_state(name);
  if (!state.exists()) {
    return fmt::format("interface '{}' is gone", name);
  }
  if (!state.up) {
    return fmt::format("interface '{0}' is down; `ip link set {0} up`", name);
  }
  if (!state.running) {
    return fmt::format(
        "interface '{}' has no carrier: the other end of its link is unplugged or down", name);
  }
  return {};
}

std::string interface_driver(const std::string& name) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  return ethtool(name, info) ? std::string(info.driver) : std::string();
}

std::uint32_t interface_speed_mbps(const std::string& name) {
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  const std::uint32_t speed = ethtool(name, settings) ? ethtool_cmd_speed(&settings) : 0;
  return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
}

std::uint32_t interface_mtu(const std::string& name) {
  auto request = request_for(name);
  return request && ask(name, SIOCGIFMTU, *request) ? static_cast<std::uint32_t>(request->ifr_mtu)
                                                    : 0;
}

ReceiveQueues interface_receive_queues(const std::string& name) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  if (!ethtool(name, channels)) {
    return {};
  }
  const auto at_least_one = [](std::uint32_t queues) {
    return static_cast<std::uint16_t>(std::clamp<std::uint32_t>(queues, 1, UINT16_MAX));
  };
  return {.all = at_least_one(channels.combined_count + channels.rx_count),
          .paired = at_least_one(channels.combined_count)};
}

int set_interface_up(const std::string& name, bool up) {
  auto request = request_for(name);
  if (!request) {
    return ENODEV;
  }
  const net::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::ioctl(socket.get(), SIOCGIFFLAGS, &*request) != 0) {
    return errno;
  }
  constexpr short flag = IFF_UP;
  request->ifr_flags =
      static_cast<short>(up ? request->ifr_flags | flag : request->ifr_flags & ~flag);
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &*request) == 0 ? 0 : errno;
}

} // namespace tributary::link
