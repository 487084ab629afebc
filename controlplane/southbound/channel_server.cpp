#include "controlplane/southbound/channel_server.hpp"

#include "controlplane/southbound/connection.hpp"
#include "controlplane/southbound/protocol/messages.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/connection_shares.hpp"
#include "lib/net/handshake_turns.hpp"
#include "lib/net/limit_silence.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/net/tcp_listener.hpp"
#include "lib/net/tls_context.hpp"
#include "lib/service/said_once.hpp"
#include "lib/service/socket_file.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tributary::southbound {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Local = asio::local::stream_protocol;

using net::as_result;
/// Pause after a failed accept, most likely for want of descriptors.
constexpr std::chrono::milliseconds accept_pause{100};
/// Connections beyond `max_connections` that are accepted, in order to send them the reason for the
/// rejection.
/// rejected.
constexpr std::size_t guests = 16;
/// Connections that have not sent hello. Addresses with the most of them lose one first.
constexpr std::size_t most_strangers = 1024;

std::vector<tcp::acceptor> listening_on(asio::io_context& io, const net::HostPort& where) {
  try {
    return net::listen_on_tcp(io, where);
  } catch (const net::ListenFailed& failed) {
    throw ChannelError(fmt::format("the address for switches to dial: {}", failed.what()));
  }
}

/// TLS 1.3 only, and the peer needs a certificate of the CA. Throws ChannelError.
std::shared_ptr<net::TlsSource> server_tls(const net::TlsFiles& files) {
  try {
    auto source =
        std::make_shared<net::TlsSource>(net::TlsSettings{.role = net::TlsRole::server,
                                                          .oldest = net::TlsVersion::tls_1_3,
                                                          .verify = net::TlsVerify::authority,
                                                          .files = files});
    static_cast<void>(source->context());
    return source;
  } catch (const net::TlsError& e) {
    throw ChannelError(fmt::format("the switches' channel: {}", e.what()));
  }
}

} // namespace

class ChannelServer::Impl final : public std::enable_shared_from_this<ChannelServer::Impl>,
                                  public ConnectionUser {
public:
  Impl(asio::io_context& io, protocol::ChannelSink& sink, ChannelServerSettings settings)
      : io_(io), sink_(sink), settings_(std::move(settings)), sessions_(settings_.sessions),
        keepalive_(io), handshakes_(std::make_shared<net::HandshakeTurns>(io.get_executor())) {}

  void listen_unix(const std::string& path) {
    try {
      auto& file = files_.emplace_back(std::make_unique<service::SocketFile>(path));
      auto& acceptor = local_acceptors_.emplace_back(io_, Local(), file->release_descriptor());
      asio::co_spawn(
          io_,
          [self = shared_from_this(), &acceptor] {
            return self->accept(acceptor, std::shared_ptr<net::TlsSource>());
          },
          asio::detached);
    } catch (const service::SocketError& e) {
      throw ChannelError(e.what());
    }
  }

  std::uint16_t listen_tcp(const net::HostPort& where, const std::optional<net::TlsFiles>& files) {
    const std::shared_ptr<net::TlsSource> tls = files ? server_tls(*files) : nullptr;
    std::uint16_t port = 0;
    for (tcp::acceptor& listening : listening_on(io_, where)) {
      auto& acceptor = tcp_acceptors_.emplace_back(std::move(listening));
      port = port != 0 ? port : acceptor.local_endpoint().port();
      asio::co_spawn(
          io_, [self = shared_from_this(), &acceptor, tls] { return self->accept(acceptor, tls); },
          asio::detached);
    }
    return port;
  }

  void send(protocol::SessionNumber session, const control::ManagerMessage& message) {
    if (const auto found = by_session_.find(session); found != by_session_.end()) {
      found->second->send(message);
    }
  }

  void close(protocol::SessionNumber session, std::string_view why) {
    const auto found = by_session_.find(session);
    if (found == by_session_.end()) {
      return;
    }
    Connection& connection = *found->second;
    spdlog::info("switch {}: the manager ends its channel: {}", peers_.at(&connection).name, why);
    forget_session(session);
    connection.close(std::string(why));
  }

  void stop() {
    stopped_ = true;
    error_code ignored;
    for (auto& acceptor : local_acceptors_) {
      acceptor.close(ignored);
    }
    for (auto& acceptor : tcp_acceptors_) {
      acceptor.close(ignored);
    }
    keepalive_.cancel();
    for (auto& [connection, peer] : peers_) {
      connection->cut_off();
    }
    peers_.clear();
    by_session_.clear();
    files_.clear();
  }

  [[nodiscard]] std::size_t connection_count() const { return peers_.size(); }

private:
  /// State of a connection.
  struct Peer {
    std::shared_ptr<Connection> connection;
    std::optional<protocol::SessionNumber> session; ///< from its Welcome until it is closed
    std::string name;                               ///< from its hello
  };

  [[nodiscard]] static net::ConnectionShares::Id number_of(const Connection& connection) {
    return reinterpret_cast<net::ConnectionShares::Id>(&connection);
  }
  [[nodiscard]] static Connection* for_number(net::ConnectionShares::Id number) {
    return reinterpret_cast<Connection*>(number);
  }

  // ---- accepting ----

  template <typename Acceptor>
  asio::awaitable<void> accept(Acceptor& acceptor, std::shared_ptr<net::TlsSource> tls) {
    const std::shared_ptr<Impl> self = shared_from_this();
    while (!stopped_) {
      const error_code error = co_await net::accept_all(
          acceptor, [&](auto socket) { take(std::move(socket), tls.get()); });
      if (stopped_) {
        co_return;
      }
      if (error) {
        turn_away(fmt::format("no switch can be accepted: {}; give the manager more descriptors "
                              "(LimitNOFILE)",
                              error.message()));
        asio::steady_timer pause(io_, accept_pause);
        co_await pause.async_wait(as_result);
      }
    }
  }

  template <typename Socket> void take(Socket socket, net::TlsSource* source) {
    std::string peer = "a Unix socket";
    Connection::Tls tls{.context = nullptr, .turns = handshakes_, .address = {}};
    if constexpr (std::is_same_v<Socket, tcp::socket>) {
      error_code error;
      socket.set_option(tcp::no_delay(true), error);
      net::limit_silence(socket.native_handle());
      const tcp::endpoint endpoint = socket.remote_endpoint(error);
      peer = error ? "nowhere" : net::text_of(endpoint);
      tls.address = net::subscriber_of(endpoint.address());
    }
    try {
      tls.context = source == nullptr ? nullptr : source->context();
    } catch (const net::TlsError& e) {
      spdlog::error("a switch cannot connect: the switches' channel: {}", e.what());
      return;
    }
    const ConnectionLimits limits{settings_.max_message_bytes, settings_.max_queued_bytes,
                                  settings_.hello_limit, settings_.close_limit};
    const auto connection = std::make_shared<Connection>(std::move(socket), std::move(tls),
                                                         std::move(peer), limits, *this);
    const auto admission = strangers_.admit(number_of(*connection), connection->address(),
                                            peers_.size() >= settings_.max_connections + guests);
    if (!admission.is_admitted) {
      return; // all are switches
    }
    if (admission.to_close) {
      for_number(*admission.to_close)->fail("it has sent nothing, and others have connected since");
    }
    peers_.emplace(connection.get(), Peer{connection, std::nullopt, {}});
    connection->start();
  }

  // ---- messages from connections ----

  void greeted(Connection& connection, const control::SwitchMessage& message,
               const std::optional<std::vector<std::string>>& names) override {
    if (!message.has_hello()) {
      reject(connection, protocol::rejection("the first message must be a hello"));
      return;
    }
    strangers_.remove(number_of(connection));
    const control::SwitchHello& hello = message.hello();
    Peer& peer = peers_.at(&connection);
    if (const auto why = protocol::unprintable_text(message)) {
      reject(connection, protocol::rejection(*why));
      return;
    }
    peer.name = hello.name();
    if (names && std::find(names->begin(), names->end(), hello.name()) == names->end()) {
      reject(connection,
             protocol::rejection(fmt::format("the certificate is for {}, not for switch \"{}\"",
                                             fmt::join(*names, ", "), hello.name())));
      return;
    }

    if (by_session_.size() >= settings_.max_connections) {
      const std::string why =
          fmt::format("{} switches are connected, as many as the manager has descriptors for; give "
                      "it more (LimitNOFILE)",
                      by_session_.size());
      turn_away(why);
      spdlog::debug("switch {}: turned away", hello.name());
      connection.send(protocol::rejection(why));
      connection.close(why);
      return;
    }
    const protocol::SessionNumber session{++last_session_};
    protocol::Admission admission = sessions_.open(session, hello, net::steady_now());
    if (!admission.accepted) {
      reject(connection, admission.answer);
      return;
    }
    if (admission.superseded) {
      supersede(*admission.superseded);
    }
    take_again();
    connection.greeting_over();
    peer.session = session;
    by_session_.emplace(session, &connection);
    sink_.welcome(hello, *admission.answer.mutable_welcome());
    connection.send(admission.answer);
    arm_keepalive();
    if (const auto refusal = sink_.connected(session, hello)) {
      forget_session(session);
      connection.unsend();
      reject(connection, protocol::rejection(*refusal, sink_.leader_address()));
      return;
    }
    said_.forget(subject_of(connection));
    spdlog::info("switch {}: connected from {}, version {}, {} port{}", hello.name(),
                 connection.peer(), hello.software(), hello.ports_size(),
                 hello.ports_size() == 1 ? "" : "s");
  }

  void received(Connection& connection, const control::SwitchMessage& message) override {
    const Peer& peer = peers_.at(&connection);
    if (message.has_hello()) {
      connection.fail("it said hello twice");
    } else if (const auto why = protocol::unprintable_text(message)) {
      connection.fail(*why);
    } else if (!message.has_pong() && peer.session) {
      sink_.message(*peer.session, message);
    }
  }

  void alive(Connection& connection) override {
    if (const auto& session = peers_.at(&connection).session) {
      sessions_.heard(*session);
    }
  }

  void ended(Connection& connection, std::string_view why) override {
    const Peer peer = std::move(peers_.extract(&connection).mapped());
    strangers_.remove(number_of(connection));
    if (peer.session) {
      spdlog::warn("switch {}: control channel lost ({}); its tables stay in force", peer.name,
                   why);
      forget_session(*peer.session);
      sink_.lost(*peer.session, why);
    } else if (peer.name.empty() && said_.is_new(subject_of(connection), std::string(why))) {
      spdlog::warn("a connection from {} ended: {} (repeats are not logged)", connection.peer(),
                   why);
    }
  }

  /// Reports it once.
  void turn_away(const std::string& why) {
    if (!std::exchange(turning_away_, true)) {
      spdlog::warn("switches are turned away: {}", why);
      sink_.turning_away(why);
    }
  }
  void take_again() {
    if (std::exchange(turning_away_, false)) {
      spdlog::info("switches are accepted again");
      sink_.turning_away("");
    }
  }

  // ---- ends ----

  /// The subject of a line in the log: the switch, or the machine of a peer that has not sent its
  /// name.
  [[nodiscard]] std::string subject_of(const Connection& connection) const {
    const auto peer = peers_.find(const_cast<Connection*>(&connection));
    if (peer != peers_.end() && !peer->second.name.empty()) {
      return "switch " + peer->second.name;
    }
    return connection.peer().substr(0, connection.peer().rfind(':'));
  }

  void reject(Connection& connection, const control::ManagerMessage& answer) {
    const std::string& reason = answer.rejected().reason();
    const std::string subject = subject_of(connection);
    if (said_.is_new(subject, reason)) {
      spdlog::warn("{}: rejected, from {}: {} (repeats are not logged)", subject, connection.peer(),
                   reason);
    } else {
      spdlog::debug("{}: rejected again", subject);
    }
    connection.send(answer);
    connection.close(reason);
  }

  void supersede(protocol::SessionNumber session) {
    Connection& connection = *by_session_.at(session);
    const std::string why = "it has dialled again";
    spdlog::info("switch {}: {}", peers_.at(&connection).name, why);
    forget_session(session);
    connection.close(why);
    sink_.lost(session, why);
  }

  /// Disconnects the session from the sink, in both directions.
  void forget_session(protocol::SessionNumber session) {
    sessions_.close(session);
    const auto found = by_session_.find(session);
    if (found == by_session_.end()) {
      return;
    }
    if (const auto peer = peers_.find(found->second); peer != peers_.end()) {
      peer->second.session.reset();
    }
    by_session_.erase(found);
    take_again();
  }

  // ---- keepalive ----

  void arm_keepalive() {
    const TimeNs next = sessions_.next_deadline();
    if (stopped_ || next == never) {
      return;
    }
    keepalive_.expires_after(std::chrono::nanoseconds(elapsed_ns(next, net::steady_now())));
    keepalive_.async_wait([weak = weak_from_this()](error_code error) {
      if (const auto self = weak.lock(); self && !error) {
        self->keep_alive();
      }
    });
  }

  void keep_alive() {
    for (const protocol::Keepalive& keepalive : sessions_.poll(net::steady_now())) {
      const auto found = by_session_.find(keepalive.session);
      if (found == by_session_.end()) {
        continue;
      }
      if (keepalive.lost) {
        found->second->fail(fmt::format("silent for {}", sessions_.timeout_text()));
      } else {
        found->second->send(keepalive.ping);
      }
    }
    arm_keepalive();
  }

  asio::io_context& io_;
  protocol::ChannelSink& sink_;
  ChannelServerSettings settings_;
  protocol::Sessions sessions_;
  asio::steady_timer keepalive_;
  std::shared_ptr<net::HandshakeTurns> handshakes_;
  net::ConnectionShares strangers_{most_strangers}; ///< those that have not sent hello
  std::vector<std::unique_ptr<service::SocketFile>> files_;
  std::deque<Local::acceptor> local_acceptors_;
  std::deque<tcp::acceptor> tcp_acceptors_;
  std::unordered_map<Connection*, Peer> peers_;
  service::SaidOnce said_; ///< for rejected switches, and for peers that are not switches
  std::map<protocol::SessionNumber, Connection*> by_session_;
  std::uint64_t last_session_ = 0;
  bool stopped_ = false;
  bool turning_away_ = false;
};

ChannelServer::ChannelServer(asio::io_context& io, protocol::ChannelSink& sink,
                             ChannelServerSettings settings)
    : impl_(std::make_shared<Impl>(io, sink, std::move(settings))) {}
ChannelServer::~ChannelServer() { impl_->stop(); }
void ChannelServer::listen_unix(const std::string& path) { impl_->listen_unix(path); }
std::uint16_t ChannelServer::listen_tcp(const net::HostPort& where,
                                        const std::optional<net::TlsFiles>& tls) {
  return impl_->listen_tcp(where, tls);
}
void ChannelServer::send(protocol::SessionNumber session, const control::ManagerMessage& message) {
  impl_->send(session, message);
}
void ChannelServer::close(protocol::SessionNumber session, std::string_view why) {
  impl_->close(session, why);
}
void ChannelServer::stop() { impl_->stop(); }
std::size_t ChannelServer::connection_count() const { return impl_->connection_count(); }

} // namespace tributary::southbound
