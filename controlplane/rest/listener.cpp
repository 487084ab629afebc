#include "controlplane/rest/listener.hpp"

#include "controlplane/rest/server.hpp"
#include "service/tcp_listener.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::rest {
std::vector<TcpListener> listen_tcp(asio::io_context& context, const ListenAddress& address) {
  try {
    std::vector<TcpListener> listeners;
    for (auto& acceptor :
         service::listen_on_tcp(context, address.host, std::to_string(address.port))) {
      error_code ignored;
      const std::string text = service::text_of(acceptor.local_endpoint(ignored));
      listeners.push_back({std::move(acceptor), text});
    }
    return listeners;
  } catch (const service::ListenFailed& failed) {
    throw ListenError(fmt::format("rest.listen: {}", failed.what()));
  }
}

UnixListener listen_unix(asio::io_context& context, const ListenAddress& address) {
  try {
    auto file = std::make_unique<service::SocketFile>(address.path);
    asio::local::stream_protocol::acceptor acceptor(context, asio::local::stream_protocol(),
                                                    file->release_descriptor());
    return {std::move(file), std::move(acceptor)};
  } catch (const service::SocketError& e) {
    throw ListenError(e.what());
  }
}

std::shared_ptr<asio::ssl::context> make_tls(const std::string& certificate,
                                             const std::string& key) {
  using asio::ssl::context;
  auto tls = std::make_shared<context>(context::tls_server);
  tls->set_options(context::default_workarounds | context::no_sslv2 | context::no_sslv3 |
                   context::no_tlsv1 | context::no_tlsv1_1);
  // Without this a key with a pass phrase would ask for it at the terminal.
  tls->set_password_callback([](std::size_t, context::password_purpose) { return std::string(); });
  const auto check = [](const error_code& error, std::string_view what, const std::string& file) {
    if (error) {
      throw ListenError(fmt::format("the TLS {} {} cannot be used ({}); it must be a readable PEM "
                                    "file without a pass phrase, and certificate and key must "
                                    "belong together",
                                    what, file, error.message()));
    }
  };
  error_code error;
  check(tls->use_certificate_chain_file(certificate, error), "certificate", certificate);
  check(tls->use_private_key_file(key, context::pem, error), "key", key);
  return tls;
}

} // namespace tributary::rest
