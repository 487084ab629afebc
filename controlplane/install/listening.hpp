// TCP sockets for switches to dial, made from an address as it stands in a configuration file.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <string>
#include <vector>

namespace tributary::install {

/// Takes "HOST:PORT" and "[IPV6]:PORT"; one for each address that the host's name stands for.
/// Throws ChannelError (channel_tls.hpp).
[[nodiscard]] std::vector<boost::asio::ip::tcp::acceptor> listening_on(boost::asio::io_context& io,
                                                                       const std::string& address);

} // namespace tributary::install
