#include "dataplane/port/kernel_interface.hpp"

#include "dataplane/port/port_error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tributary::dataplane {
namespace {

/// A socket to ask the kernel about interfaces; one per question, so that it belongs to the
/// namespace the question is about.
class QuerySocket {
public:
  QuerySocket() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) {
      throw PortError(fmt::format("cannot open a socket to ask the kernel about interfaces: {}",
                                  std::generic_category().message(errno)));
    }
  }
  ~QuerySocket() { ::close(fd_); }
  QuerySocket(const QuerySocket&) = delete;
  QuerySocket& operator=(const QuerySocket&) = delete;

  [[nodiscard]] bool ask(unsigned long request, ifreq& question) const {
    return ::ioctl(fd_, request, &question) == 0;
  }

private:
  int fd_;
};

std::optional<ifreq> request_for(const std::string& name) {
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name) {
    return std::nullopt;
  }
  std::memcpy(request.ifr_name, name.data(), name.size());
  return request;
}

template <typename Command> bool ethtool(const std::string& name, Command& command) {
  auto request = request_for(name);
  if (!request) {
    return false;
  }
  request->ifr_data = reinterpret_cast<char*>(&command);
  return QuerySocket().ask(SIOCETHTOOL, *request);
}

/// Sets or clears IFF_UP; the errno, or 0.
int set_up(const std::string& name, bool up) {
  auto request = request_for(name);
  const QuerySocket socket;
  if (!request || !socket.ask(SIOCGIFFLAGS, *request)) {
    return request ? errno : ENODEV;
  }
  constexpr short flag = IFF_UP;
  request->ifr_flags =
      static_cast<short>(up ? request->ifr_flags | flag : request->ifr_flags & ~flag);
  return socket.ask(SIOCSIFFLAGS, *request) ? 0 : errno;
}

} // namespace

InterfaceState interface_state(const std::string& name) {
  InterfaceState state;
  auto request = request_for(name);
  const QuerySocket socket;
  if (!request || !socket.ask(SIOCGIFFLAGS, *request)) {
    return state;
  }
  state.up = (request->ifr_flags & IFF_UP) != 0;
  // The carrier itself: IFF_RUNNING follows it up to a second later, and what was sent meanwhile
  // would be lost.
  ethtool_value carrier{};
  carrier.cmd = ETHTOOL_GLINK;
  state.running = state.up && (ethtool(name, carrier) ? carrier.data != 0
                                                      : (request->ifr_flags & IFF_RUNNING) != 0);
  state.index = ::if_nametoindex(name.c_str());
  return state;
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
  return request && QuerySocket().ask(SIOCGIFMTU, *request)
             ? static_cast<std::uint32_t>(request->ifr_mtu)
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

int open_link_events() {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (socket < 0 ||
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    if (socket >= 0) {
      ::close(socket);
    }
    throw PortError(fmt::format("the kernel does not tell about changes of links: {}",
                                std::generic_category().message(error)));
  }
  return socket;
}

InterfaceGuard::InterfaceGuard(std::string name) : name_(std::move(name)) {
  const InterfaceState state = interface_state(name_);
  if (!state.exists()) {
    throw PortError(fmt::format("there is no interface \"{}\" in this network namespace; "
                                "`ip link` lists those there are",
                                name_));
  }
  index_ = state.index;
  membership_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  packet_mreq membership{};
  membership.mr_ifindex = static_cast<int>(index_);
  membership.mr_type = PACKET_MR_PROMISC;
  if (membership_ < 0 || ::setsockopt(membership_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership,
                                      sizeof membership) != 0) {
    const int error = errno;
    if (membership_ >= 0) {
      ::close(membership_);
    }
    throw PortError(fmt::format("cannot make interface \"{}\" promiscuous: {} (CAP_NET_RAW is "
                                "needed)",
                                name_, std::generic_category().message(error)));
  }
  if (!state.up) {
    if (const int error = set_up(name_, true); error != 0) {
      ::close(membership_);
      throw PortError(fmt::format("cannot set interface \"{0}\" up: {1} (CAP_NET_ADMIN is needed, "
                                  "or `ip link set {0} up` beforehand)",
                                  name_, std::generic_category().message(error)));
    }
    was_down_ = true;
    spdlog::info("interface {} was down: set it up, until the port closes", name_);
  }
}

InterfaceGuard::~InterfaceGuard() {
  ::close(membership_);
  if (was_down_ && ::if_nametoindex(name_.c_str()) == index_) {
    if (const int error = set_up(name_, false); error != 0) {
      spdlog::warn("cannot set interface {} down again as it was: {}", name_,
                   std::generic_category().message(error));
    }
  }
}

} // namespace tributary::dataplane
