#include "controlplane/rest/listener.hpp"

#include "controlplane/rest/server.hpp"
#include "lib/net/tcp_listener.hpp"
#include "lib/net/tls_context.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::rest {
std::vector<TcpListener> listen_tcp(asio::io_context& context, const net::HostPort& where) {
  try {
    std::vector<TcpListener> listeners;
    for (auto& acceptor : net::listen_on_tcp(context, where)) {
      error_code ignored;
      const std::string text = net::text_of(acceptor.local_endpoint(ignored));
      listeners.push_back({std::move(acceptor), text});
    }
    return listeners;
  } catch (const net::ListenFailed& failed) {
    throw ListenError(fmt::format("rest.listen: {}", failed.what()));
  }
}

UnixListener listen_unix(asio::io_context& context, const std::string& path) {
  try {
    auto file = std::make_unique<service::SocketFile>(path);
    asio::local::stream_protocol::acceptor acceptor(context, asio::local::stream_protocol(),
                                                    file->release_descriptor());
    return {std::move(file), std::move(acceptor)};
  } catch (const service::SocketError& e) {
    throw ListenError(e.what());
  }
}

std::shared_ptr<asio::ssl::context> make_tls(const net::TlsFiles& files) {
  try {
    return std::make_shared<asio::ssl::context>(net::tls_context(
        {.role = net::TlsRole::server,
         .oldest = net::TlsVersion::tls_1_2,
         .verify = files.ca.empty() ? net::TlsVerify::nothing : net::TlsVerify::authority_if_any,
         .files = files}));
  } catch (const net::TlsError& e) {
    throw ListenError(fmt::format("rest: {}", e.what()));
  }
}

} // namespace tributary::rest
