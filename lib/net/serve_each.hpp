// What servers of many clients have in common: they accept each one, and no client holds one up.
#pragma once

#include "lib/net/as_result.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <utility>

namespace tributary::net {

/// Runs the coroutine `serve(client)` for each client until the acceptor is closed. The acceptor
/// has to live as long as `serve` or a copy of it.
template <typename Acceptor, typename Serve>
boost::asio::awaitable<void> serve_each(Acceptor& acceptor, Serve serve) {
  namespace asio = boost::asio;
  constexpr std::chrono::milliseconds pause_after_failure{100};
  while (acceptor.is_open()) {
    auto [error, client] = co_await acceptor.async_accept(as_result);
    if (!acceptor.is_open()) {
      co_return;
    }
    if (error) {
      // Most likely out of descriptors: existing connections come first.
      asio::steady_timer pause(acceptor.get_executor(), pause_after_failure);
      co_await pause.async_wait(as_result);
      continue;
    }
    asio::co_spawn(
        acceptor.get_executor(),
        [serve, socket = std::move(client)]() mutable { return serve(std::move(socket)); },
        asio::detached);
  }
}

/// Writes all of it, and gives up after `limit`. Returns whether it is written.
template <typename Stream>
boost::asio::awaitable<bool> write_within(std::chrono::steady_clock::duration limit, Stream& stream,
                                          boost::asio::const_buffer bytes) {
  namespace asio = boost::asio;
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(stream.get_executor(), limit);
  const auto written =
      co_await (asio::async_write(stream, bytes, as_result) || timer.async_wait(as_result));
  co_return written.index() == 0 && !std::get<0>(std::get<0>(written));
}

} // namespace tributary::net
