// Sockets to accept connections on, made from a listen address. Event loop thread.
#pragma once

#include "controlplane/rest/transport.hpp"
#include "lib/net/address.hpp"
#include "lib/net/tls_context.hpp"
#include "lib/service/socket_file.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tributary::rest {

struct TcpListener {
  asio::ip::tcp::acceptor acceptor;
  std::string address; ///< "127.0.0.1:7580", "[::1]:7580"
};
/// One for each address of the host name. Throws ListenError.
[[nodiscard]] std::vector<TcpListener> listen_tcp(asio::io_context& context,
                                                  const net::HostPort& where);

struct UnixListener {
  std::unique_ptr<service::SocketFile> file; ///< removed with it
  asio::local::stream_protocol::acceptor acceptor;
};
/// Throws ListenError.
[[nodiscard]] UnixListener listen_unix(asio::io_context& context, const std::string& path);

/// TLS 1.2 or newer with this certificate chain and key. With a CA clients may present a
/// certificate, which it must have signed. Throws ListenError.
[[nodiscard]] std::shared_ptr<asio::ssl::context> make_tls(const net::TlsFiles& files);

} // namespace tributary::rest
