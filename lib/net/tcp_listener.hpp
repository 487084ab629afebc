// Listening TCP sockets, and the text of an address.
#pragma once

#include "lib/net/address.hpp"
#include "lib/net/as_result.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tributary::net {

/// what() names the address that cannot be listened on, the reason, and the remedy.
class ListenFailed : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// One for each address of the host's name; IPv6 ones accept only IPv6. Throws ListenFailed.
[[nodiscard]] std::vector<boost::asio::ip::tcp::acceptor> listen_on_tcp(boost::asio::io_context& io,
                                                                        const HostPort& where);

/// Accepts pending connections, waiting for the first, a limited number per call, so that a flood
/// does not delay other work. Returns why no more can be accepted for now, or no error.
template <typename Acceptor, typename Take>
boost::asio::awaitable<boost::system::error_code> accept_all(Acceptor& acceptor, Take take) {
  constexpr int most_at_once = 64;
  auto [error, socket] = co_await acceptor.async_accept(as_result);
  if (!error) {
    acceptor.non_blocking(true, error);
  }
  for (int i = 0; i < most_at_once && !error; ++i) {
    take(std::move(socket));
    if (acceptor.is_open()) {
      socket = acceptor.accept(error);
    } else {
      error = boost::asio::error::operation_aborted;
    }
  }
  if (!error) {
    take(std::move(socket));
  }
  co_return error == boost::asio::error::would_block ? boost::system::error_code() : error;
}

/// The subscriber of an address: "10.1.2.3", or the network "2001:db8:1:2::/64", because one
/// subscriber has all of its addresses.
[[nodiscard]] std::string subscriber_of(const boost::asio::ip::address& address);

/// "127.0.0.1:7581", "[::1]:7581"
[[nodiscard]] std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint);

} // namespace tributary::net
