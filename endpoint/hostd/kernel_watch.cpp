#include "endpoint/hostd/kernel_watch.hpp"

#include "lib/net/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tributary::hostd {

namespace asio = boost::asio;
using net::as_result;

namespace {

/// A socket that receives what the kernel announces to a group.
int events_of(int protocol, std::uint32_t group) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (socket < 0 ||
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::setsockopt(socket, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0) {
    const int error = errno;
    if (socket >= 0) {
      ::close(socket);
    }
    throw std::runtime_error(fmt::format("changes of interfaces and rules cannot be followed ({}); "
                                         "CAP_NET_ADMIN is needed",
                                         std::strerror(error)));
  }
  return socket;
}

} // namespace

KernelWatch::KernelWatch(asio::io_context& context, std::function<void()> changed)
    : context_(context), changed_(std::move(changed)),
      interfaces_(context, events_of(NETLINK_ROUTE, RTNLGRP_LINK)),
      rules_(context, events_of(NETLINK_NETFILTER, NFNLGRP_NFTABLES)), soon_(context) {
  asio::co_spawn(context_, follow(interfaces_), asio::detached);
  asio::co_spawn(context_, follow(rules_), asio::detached);
  asio::co_spawn(context_, look_regularly(), asio::detached);
}

asio::awaitable<void> KernelWatch::follow(asio::posix::stream_descriptor& events) {
  std::array<char, 16'384> ignored{};
  for (;;) {
    const auto [error] =
        co_await events.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
    if (error) {
      co_return;
    }
    // Also when the kernel dropped some (ENOBUFS): what counts is that there was a change.
    while (::recv(events.native_handle(), ignored.data(), ignored.size(), MSG_DONTWAIT) >= 0 ||
           errno == ENOBUFS) {
    }
    gather();
  }
}

void KernelWatch::gather() {
  if (std::exchange(gathers_, true)) {
    return;
  }
  soon_.expires_at(
      std::max(asio::steady_timer::clock_type::now() + gathering, last_call_ + shortest_pause));
  soon_.async_wait([this](boost::system::error_code error) {
    gathers_ = false;
    last_call_ = asio::steady_timer::clock_type::now();
    if (!error) {
      changed_();
    }
  });
}

asio::awaitable<void> KernelWatch::look_regularly() {
  asio::steady_timer timer(context_);
  for (;;) {
    timer.expires_after(longest_pause);
    const auto [error] = co_await timer.async_wait(as_result);
    if (error) {
      co_return;
    }
    changed_();
  }
}

} // namespace tributary::hostd
