#include "endpoint/launcher/inventory/interface_watch.hpp"

#include <array>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tributary::launch::inventory {

int watch_interfaces() {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) {
    return -1;
  }
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups = RTMGRP_LINK;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof(own)) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

void clear_watch(int descriptor) {
  std::array<char, 8192> ignored;
  // An overrun descriptor reports it once (ENOBUFS), and continues.
  while (::recv(descriptor, ignored.data(), ignored.size(), 0) > 0) {
  }
}

} // namespace tributary::launch::inventory
