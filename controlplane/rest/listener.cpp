#include "controlplane/rest/listener.hpp"

#include "controlplane/rest/server.hpp"

#include <boost/asio/ip/v6_only.hpp>
#include <fmt/format.h>

#include <utility>

namespace tributary::rest {
namespace {

using asio::ip::tcp;

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

TcpListener listen_at(asio::io_context& context, const tcp::endpoint& endpoint) {
  tcp::acceptor acceptor(context);
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error && endpoint.address().is_v6()) {
    acceptor.set_option(asio::ip::v6_only(true), error);
  }
  if (!error) {
    acceptor.bind(endpoint, error);
  }
  if (!error) {
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    throw ListenError(fmt::format("cannot listen on {} ({}); stop whatever uses the address, or "
                                  "choose another in rest.listen",
                                  text_of(endpoint), error.message()));
  }
  error_code ignored;
  const std::string address = text_of(acceptor.local_endpoint(ignored));
  return {std::move(acceptor), address};
}

} // namespace

std::vector<TcpListener> listen_tcp(asio::io_context& context, const ListenAddress& address) {
  tcp::resolver resolver(context);
  error_code error;
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
  if (error) {
    throw ListenError(fmt::format("cannot listen on {}: the name is not known ({}); check "
                                  "rest.listen and the name service",
                                  address.host, error.message()));
  }
  std::vector<TcpListener> listeners;
  for (const auto& entry : found) {
    listeners.push_back(listen_at(context, entry.endpoint()));
  }
  return listeners;
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
