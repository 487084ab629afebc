#include "controlplane/rest/server.hpp"

#include "controlplane/rest/authentication.hpp"
#include "controlplane/rest/connection.hpp"
#include "controlplane/rest/listener.hpp"
#include "controlplane/rest/shared.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/limit_silence.hpp"
#include "lib/net/tcp_listener.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <map>
#include <set>
#include <utility>

namespace tributary::rest {
namespace {

using asio::ip::tcp;
using asio::local::stream_protocol;

using net::as_result;

/// Pause after a failed accept: most likely out of descriptors; some have to close first.
constexpr std::chrono::milliseconds accept_pause{100};
/// Most connections that are answered with "too many"; beyond that, the oldest of them are closed.
constexpr std::size_t max_rejected = 256;

net::Address listen_address(const std::string& text) {
  try {
    return net::parse_address(text, net::Purpose::listen);
  } catch (const net::AddressError& e) {
    throw ListenError(fmt::format("rest.listen: {}", e.what()));
  }
}

/// Reports an exception that leaves a coroutine, which is a defect.
void report(const std::exception_ptr& thrown) {
  if (thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      spdlog::error("a connection ended by an exception: {}", e.what());
    }
  }
}

} // namespace

class Server::Impl : public std::enable_shared_from_this<Server::Impl> {
public:
  Impl(asio::io_context& context, const Settings& settings, api::Service& service)
      : context_(context), shared_(std::make_shared<Shared>(settings.limits)),
        stop_timer_(context), tls_files_{settings.tls_ca, settings.tls_certificate,
                                         settings.tls_key},
        handshakes_(std::make_shared<net::HandshakeTurns>(context.get_executor())) {
    shared_->service = &service;
    shared_->routes = service.routes();
    shared_->administrator_token = settings.administrator_token;
    if (tls_files_.certificate.empty() != tls_files_.key.empty()) {
      throw ListenError("TLS needs a certificate and a key; set both rest.tls_certificate and "
                        "rest.tls_key, or neither");
    }
    reload_certificate();
    for (const std::string& text : settings.listen) {
      const net::Address address = listen_address(text);
      if (address.is_unix()) {
        unix_listeners_.push_back(listen_unix(context, address.path));
        addresses_.push_back(address.text());
        continue;
      }
      for (TcpListener& listener : listen_tcp(context, address.tcp)) {
        addresses_.push_back(listener.address);
        tcp_listeners_.push_back(std::move(listener));
      }
    }
  }

  void start() {
    for (TcpListener& listener : tcp_listeners_) {
      asio::co_spawn(
          context_,
          [self = shared_from_this(), &listener] { return self->accept(listener.acceptor); },
          report);
    }
    for (UnixListener& listener : unix_listeners_) {
      asio::co_spawn(
          context_,
          [self = shared_from_this(), &listener] { return self->accept(listener.acceptor); },
          report);
    }
  }

  void stop() {
    if (std::exchange(shared_->stopping, true)) {
      return;
    }
    close_listeners();
    for (const auto& [id, connection] : std::map(connections_)) {
      connection->stop();
    }
    if (!connections_.empty()) {
      stop_timer_.expires_after(shared_->limits.stop_time);
      stop_timer_.async_wait([self = shared_from_this()](error_code error) {
        if (!error) {
          self->close_connections();
        }
      });
    }
  }

  /// The server is gone: nothing may call the service from now on.
  void abandon() {
    shared_->stopping = true;
    close_listeners();
    close_connections();
    shared_->service = nullptr;
    stop_timer_.cancel();
  }

  void reload_certificate() {
    if (!tls_files_.certificate.empty()) {
      tls_ = make_tls(tls_files_);
    }
  }

  void set_administrator_token(std::string token) {
    shared_->administrator_token = std::move(token);
  }

  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] std::size_t connection_count() const { return connections_.size(); }

private:
  /// Counts a connection while its coroutine runs.
  class Registration {
  public:
    Registration(std::shared_ptr<Impl> server, Connection& connection, net::ConnectionShares::Id id)
        : server_(std::move(server)), id_(id) {
      server_->connections_.emplace(id_, &connection);
      server_->shared_->connections = server_->connections_.size();
    }
    ~Registration() {
      server_->connections_.erase(id_);
      server_->rejected_.erase(id_);
      server_->shared_->connections = server_->connections_.size();
      server_->shared_->shares.remove(id_);
      if (server_->connections_.empty()) {
        server_->stop_timer_.cancel();
      }
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

  private:
    std::shared_ptr<Impl> server_;
    net::ConnectionShares::Id id_;
  };

  template <typename Acceptor> asio::awaitable<void> accept(Acceptor& acceptor) {
    while (acceptor.is_open()) {
      const error_code error = co_await net::accept_all(
          acceptor, [this](auto socket) { this->admit(std::move(socket)); });
      if (error == asio::error::operation_aborted || !acceptor.is_open()) {
        break;
      }
      if (error) {
        asio::steady_timer pause(context_, accept_pause);
        static_cast<void>(co_await pause.async_wait(as_result));
      }
    }
  }

  void admit(tcp::socket socket) {
    error_code error;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) {
      return; // gone already
    }
    socket.set_option(tcp::no_delay(true), error);
    net::limit_silence(socket.native_handle());
    const Peer peer{.name = net::subscriber_of(remote.address()), .id = ++last_id_};
    admit(tls_ ? tls_transport(Socket(std::move(socket)), tls_, handshakes_, peer.name)
               : plain_transport(Socket(std::move(socket))),
          peer);
  }

  void admit(stream_protocol::socket socket) {
    const auto user = peer_user(socket.native_handle());
    if (!user) {
      return;
    }
    const Peer peer{.name = fmt::format("user {}", *user),
                    .administrator = is_administrator(*user),
                    .id = ++last_id_};
    admit(plain_transport(Socket(std::move(socket))), peer);
  }

  void admit(std::unique_ptr<Transport> transport, const Peer& peer) {
    net::ConnectionShares::Admission admission{.is_admitted = true};
    if (!peer.administrator) {
      admission = shared_->shares.admit(peer.id, peer.name);
    }
    if (admission.to_close) {
      ++shared_->displaced_connections;
      close(*admission.to_close);
    }
    const bool is_busy = !admission.is_admitted;
    if (is_busy) {
      ++shared_->refused_connections;
      if (rejected_.size() >= max_rejected) {
        close(*rejected_.begin());
      }
      rejected_.insert(peer.id);
    }
    auto connection = std::make_shared<Connection>(shared_, std::move(transport), peer);
    auto registration = std::make_shared<Registration>(shared_from_this(), *connection, peer.id);
    asio::co_spawn(
        context_,
        [connection, is_busy, registration = std::move(registration)] {
          return connection->run(is_busy);
        },
        report);
  }

  void close(net::ConnectionShares::Id id) {
    rejected_.erase(id);
    if (const auto found = connections_.find(id); found != connections_.end()) {
      found->second->close();
    }
  }

  void close_listeners() {
    error_code ignored;
    for (TcpListener& listener : tcp_listeners_) {
      listener.acceptor.close(ignored);
    }
    for (UnixListener& listener : unix_listeners_) {
      listener.acceptor.close(ignored);
      listener.file.reset();
    }
  }

  void close_connections() {
    for (const auto& [id, connection] : std::map(connections_)) {
      connection->close();
    }
  }

  asio::io_context& context_;
  std::shared_ptr<Shared> shared_;
  asio::steady_timer stop_timer_;
  net::TlsFiles tls_files_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::shared_ptr<net::HandshakeTurns> handshakes_;
  std::vector<TcpListener> tcp_listeners_;
  std::vector<UnixListener> unix_listeners_;
  std::vector<std::string> addresses_;
  std::map<net::ConnectionShares::Id, Connection*> connections_;
  std::set<net::ConnectionShares::Id> rejected_; ///< those that are only answered with "too many"
  net::ConnectionShares::Id last_id_ = 0;
};

Server::Server(asio::io_context& context, const Settings& settings, api::Service& service)
    : impl_(std::make_shared<Impl>(context, settings, service)) {
  impl_->start();
}

Server::~Server() { impl_->abandon(); }

void Server::stop() { impl_->stop(); }

void Server::reload_certificate() { impl_->reload_certificate(); }

void Server::set_administrator_token(std::string token) {
  impl_->set_administrator_token(std::move(token));
}

const std::vector<std::string>& Server::addresses() const { return impl_->addresses(); }

std::size_t Server::connection_count() const { return impl_->connection_count(); }

} // namespace tributary::rest
