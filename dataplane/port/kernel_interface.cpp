#include "dataplane/port/kernel_interface.hpp"

#include "dataplane/port/port_error.hpp"
#include "lib/link/interface.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tributary::port {

net::FileDescriptor open_link_events() {
  net::FileDescriptor socket(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw PortError(fmt::format("the kernel does not report changes of links: {}",
                                std::generic_category().message(errno)));
  }
  return socket;
}

InterfaceGuard::InterfaceGuard(std::string name) : name_(std::move(name)) {
  const link::InterfaceState state = link::interface_state(name_);
  if (!state.exists()) {
    throw PortError(
        fmt::format("no interface \"{}\" in this network namespace; `ip link` lists them", name_));
  }
  index_ = state.index;
  socket_ = net::FileDescriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(index_);
  packet_mreq membership{};
  membership.mr_ifindex = static_cast<int>(index_);
  membership.mr_type = PACKET_MR_PROMISC;
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::setsockopt(socket_.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership,
                   sizeof membership) != 0) {
    throw PortError(fmt::format("cannot make interface \"{}\" promiscuous: {} (CAP_NET_RAW is "
                                "needed)",
                                name_, std::generic_category().message(errno)));
  }
  if (!state.up) {
    if (const int error = link::set_interface_up(name_, true); error != 0) {
      throw PortError(fmt::format("cannot set interface \"{0}\" up: {1} (CAP_NET_ADMIN is needed, "
                                  "or `ip link set {0} up` beforehand)",
                                  name_, std::generic_category().message(error)));
    }
    was_down_ = true;
    spdlog::info("interface {} was down: set it up, until the port closes", name_);
  }
}

InterfaceGuard::~InterfaceGuard() {
  const bool same = still_there();
  socket_.close();
  if (was_down_ && same) {
    if (const int error = link::set_interface_up(name_, false); error != 0) {
      spdlog::warn("cannot set interface {} down again as it was: {}", name_,
                   std::generic_category().message(error));
    }
  }
}

bool InterfaceGuard::still_there() const {
  sockaddr_ll address{};
  socklen_t length = sizeof address;
  return ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
         address.sll_ifindex == static_cast<int>(index_);
}

} // namespace tributary::port
