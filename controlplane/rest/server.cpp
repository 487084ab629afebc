#include "controlplane/rest/server.hpp"

#include "controlplane/rest/authentication.hpp"
#include "controlplane/rest/connection.hpp"
#include "controlplane/rest/listener.hpp"
#include "controlplane/rest/shared.hpp"
#include "net/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <sys/resource.h>

namespace tributary::rest {
namespace {

using asio::ip::tcp;
using asio::local::stream_protocol;

using net::as_result;

/// After a failed accept: out of descriptors, most likely; some have to go first.
constexpr std::chrono::milliseconds accept_pause{100};
/// So many connections at a time are told that there are too many; others are just closed.
constexpr std::size_t max_told_busy = 64;
/// Descriptors that are not for HTTP: switches, the store, the log.
constexpr std::size_t other_descriptors = 512;

void lower_to_descriptors(Limits& limits) {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0 || descriptors.rlim_cur == RLIM_INFINITY) {
    return;
  }
  const std::size_t all = descriptors.rlim_cur;
  const std::size_t most = std::max(all / 2, all - std::min(all, other_descriptors));
  if (limits.connections > most) {
    spdlog::info("{} HTTP connections at a time, not {}: the process may have {} descriptors", most,
                 limits.connections, all);
    limits.connections = most;
  }
}

net::Address listen_address(const std::string& text) {
  try {
    return net::parse_address(text, net::Purpose::listen);
  } catch (const net::AddressError& e) {
    throw ListenError(fmt::format("rest.listen: {}", e.what()));
  }
}

/// Shown by whoever looks at a coroutine's end: nothing may leave one, so this is a defect.
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
      : context_(context), shared_(std::make_shared<Shared>()), stop_timer_(context),
        certificate_(settings.tls_certificate), key_(settings.tls_key) {
    shared_->service = &service;
    shared_->administrator_token = settings.administrator_token;
    shared_->limits = settings.limits;
    lower_to_descriptors(shared_->limits);
    if (certificate_.empty() != key_.empty()) {
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
    for (Connection* connection : std::vector(connections_.begin(), connections_.end())) {
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

  /// The server is gone: nothing may reach the service from now on.
  void abandon() {
    shared_->stopping = true;
    close_listeners();
    close_connections();
    shared_->service = nullptr;
    stop_timer_.cancel();
  }

  void reload_certificate() {
    if (!certificate_.empty()) {
      tls_ = make_tls(certificate_, key_);
    }
  }

  void set_administrator_token(std::string token) {
    shared_->administrator_token = std::move(token);
  }

  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] std::size_t connection_count() const { return connections_.size(); }

private:
  /// Counts a connection for as long as its coroutine runs.
  class Registration {
  public:
    Registration(Impl& server, Connection& connection, const Peer& peer)
        : server_(server), connection_(connection), peer_(peer.administrator ? "" : peer.name) {
      server_.connections_.insert(&connection_);
      server_.shared_->connections = server_.connections_.size();
      if (!peer_.empty()) {
        ++server_.by_peer_[peer_];
      }
    }
    ~Registration() {
      server_.connections_.erase(&connection_);
      server_.shared_->connections = server_.connections_.size();
      if (!peer_.empty() && --server_.by_peer_[peer_] == 0) {
        server_.by_peer_.erase(peer_);
      }
      if (server_.connections_.empty()) {
        server_.stop_timer_.cancel();
      }
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

  private:
    Impl& server_;
    Connection& connection_;
    std::string peer_; ///< "": not counted
  };

  template <typename Acceptor> asio::awaitable<void> accept(Acceptor& acceptor) {
    while (acceptor.is_open()) {
      auto [error, socket] = co_await acceptor.async_accept(as_result);
      if (error == asio::error::operation_aborted || !acceptor.is_open()) {
        break;
      }
      if (error) {
        asio::steady_timer pause(context_, accept_pause);
        static_cast<void>(co_await pause.async_wait(as_result));
        continue;
      }
      admit(std::move(socket));
    }
  }

  void admit(tcp::socket socket) {
    error_code error;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) {
      return; // gone already
    }
    socket.set_option(tcp::no_delay(true), error);
    const Peer peer{remote.address().to_string(), false};
    admit(tls_ ? tls_transport(Socket(std::move(socket)), tls_)
               : plain_transport(Socket(std::move(socket))),
          peer);
  }

  void admit(stream_protocol::socket socket) {
    const auto user = peer_user(socket.native_handle());
    if (!user) {
      return;
    }
    const Peer peer{fmt::format("user {}", *user), is_administrator(*user)};
    admit(plain_transport(Socket(std::move(socket))), peer);
  }

  void admit(std::unique_ptr<Transport> transport, const Peer& peer) {
    const auto of_peer = by_peer_.find(peer.name);
    const bool busy =
        !peer.administrator &&
        (connections_.size() >= shared_->limits.connections + told_busy_ ||
         (of_peer != by_peer_.end() && of_peer->second >= shared_->limits.connections_per_peer));
    if (busy) {
      ++shared_->refused_connections;
      if (told_busy_ >= max_told_busy) {
        return;
      }
    }
    auto connection = std::make_shared<Connection>(shared_, std::move(transport), peer);
    asio::co_spawn(
        context_,
        [self = shared_from_this(), connection, peer, busy] {
          return self->serve(connection, peer, busy);
        },
        report);
  }

  asio::awaitable<void> serve(std::shared_ptr<Connection> connection, Peer peer, bool busy) {
    const Registration registration(*this, *connection, peer);
    told_busy_ += busy ? 1 : 0;
    co_await connection->run(busy);
    told_busy_ -= busy ? 1 : 0;
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
    for (Connection* connection : std::vector(connections_.begin(), connections_.end())) {
      connection->close();
    }
  }

  asio::io_context& context_;
  std::shared_ptr<Shared> shared_;
  asio::steady_timer stop_timer_;
  std::string certificate_;
  std::string key_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::vector<TcpListener> tcp_listeners_;
  std::vector<UnixListener> unix_listeners_;
  std::vector<std::string> addresses_;
  std::unordered_set<Connection*> connections_;
  std::unordered_map<std::string, std::size_t> by_peer_;
  std::size_t told_busy_ = 0; ///< connections that are only told that there are too many
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
