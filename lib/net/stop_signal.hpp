// The signals of a daemon: SIGHUP, and those that end it.
#pragma once

#include "lib/net/as_result.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <string_view>

namespace tributary::net {

/// Waits for SIGTERM or SIGINT, and returns its name; calls `reload()` at each SIGHUP until then.
/// Empty if the set was cancelled.
template <typename Reload>
boost::asio::awaitable<std::string_view> stop_signal(boost::asio::signal_set& signals,
                                                     Reload reload) {
  for (;;) {
    const auto [error, signal] = co_await signals.async_wait(as_result);
    if (error) {
      co_return std::string_view();
    }
    if (signal != SIGHUP) {
      co_return signal == SIGTERM ? "SIGTERM" : "SIGINT";
    }
    reload();
  }
}

} // namespace tributary::net
