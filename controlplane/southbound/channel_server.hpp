// The manager's end of the control channels: listens, and carries messages between the switches'
// connections and a sink. Which switch a session is, and what is said, is not its business.
//
//   ChannelServer server(io, sink, {.sessions = {.manager = "fabricd"}});
//   server.listen_unix("/run/tributary/switches.sock");
//   server.listen_tcp({"0.0.0.0", 7581}, net::TlsFiles{ca, certificate, key});
//   server.send(session, message);           from the loop's thread; never blocks
//   server.stop();                           ends all; the sink hears of none of it
//
// Every connection is a coroutine that reads and one that writes, on the thread of the io_context.
// What is sent waits in a queue of its own: a switch that does not read holds up nobody, and loses
// its channel when `max_queued_bytes` are waiting. Keepalive, Welcome and Rejected are
// protocol::Sessions'.
//
// With TLS (1.3), the switch's certificate must be signed by the CA, and its common name or one of
// its DNS names must be the name that the hello says. The files are read when they have changed:
// a renewed certificate needs no restart.
//
// Whoever has not said hello takes no place of those who have: such connections are few, and make
// room for each other; handshakes take turns by address (lib/net/handshake_turns.hpp).
#pragma once

#include "controlplane/southbound/protocol/channel_sink.hpp"
#include "controlplane/southbound/protocol/session.hpp"
#include "lib/net/address.hpp"
#include "lib/net/framing.hpp"
#include "lib/net/tls_context.hpp"
#include "tributary/control.pb.h"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary::southbound {

/// An address that cannot be listened on, or a TLS file that cannot be used; says what to do.
class ChannelError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct ChannelServerSettings {
  protocol::SessionSettings sessions{};
  std::size_t max_message_bytes = net::max_message_bytes;
  /// Waiting for a switch to read.
  std::size_t max_queued_bytes = 2 * net::max_message_bytes;
  /// Switches at a time; those beyond are told so, and turned away.
  std::size_t max_connections = 4096;
  /// From the connection to the hello, the TLS handshake included.
  std::chrono::milliseconds hello_limit = std::chrono::seconds(5);
  /// For what a closed session was sent before to go out, and the switch to hang up.
  std::chrono::milliseconds close_limit = std::chrono::seconds(1);
};

class ChannelServer {
public:
  /// The sink outlives the server, and the io_context both.
  ChannelServer(boost::asio::io_context& io, protocol::ChannelSink& sink,
                ChannelServerSettings settings);
  ~ChannelServer();
  ChannelServer(const ChannelServer&) = delete;
  ChannelServer& operator=(const ChannelServer&) = delete;

  /// Replaces a leftover socket file; mode 0660. Throws ChannelError.
  void listen_unix(const std::string& path);
  /// Without TLS when there are no files. Answers the port. Throws ChannelError.
  std::uint16_t listen_tcp(const net::HostPort& where, const std::optional<net::TlsFiles>& tls);

  /// Dropped when the session is no more.
  void send(protocol::SessionNumber session, const control::ManagerMessage& message);
  /// What was sent before still goes out, within `close_limit`.
  void close(protocol::SessionNumber session, std::string_view why);
  void stop();

  [[nodiscard]] std::size_t connection_count() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

} // namespace tributary::southbound
