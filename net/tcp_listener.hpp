// TCP sockets to accept connections on, and the text of an address.
#pragma once

#include "net/address.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::net {

/// What() says on what nobody can listen, why, and what to do.
class ListenFailed : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// One for each address that the host's name stands for, IPv6 ones for IPv6 alone. Throws
/// ListenFailed.
[[nodiscard]] std::vector<boost::asio::ip::tcp::acceptor> listen_on_tcp(boost::asio::io_context& io,
                                                                        const HostPort& where);

/// "127.0.0.1:7581", "[::1]:7581"
[[nodiscard]] std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint);

} // namespace tributary::net
