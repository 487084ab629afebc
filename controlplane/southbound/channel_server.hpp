// The manager's end of the control channels: listens, and carries messages between the switches'
// connections and a sink. It interprets neither sessions nor messages.
//
//   ChannelServer server(io, sink, {.sessions = {.manager = "fabricd"}});
//   server.listen_unix("/run/tributary/switches.sock");
//   server.listen_tcp({"0.0.0.0", 7581}, net::TlsFiles{ca, certificate, key});
//   server.send(session, message);           from the loop's thread; never blocks
//   server.stop();                           ends all sessions; the sink is not notified
//
// Every connection is a coroutine that reads and one that writes, on the thread of the io_context.
// Messages to send wait in a queue per connection: a switch that does not read delays no other, and
// loses its channel when `max_queued_bytes` are waiting. Keepalive, Welcome and Rejected belong to
// protocol::Sessions.
//
// With TLS (1.3), the switch's certificate must be signed by the CA, and its common name or one of
// its DNS names must be the name in the hello. Changed files are read again: a renewed certificate
// needs no restart.
//
// Connections without a hello take no place of those with one: they are few, and make room for each
// other; handshakes take turns by address (lib/net/handshake_turns.hpp).
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

/// An address that cannot be listened on, or an unusable TLS file; says what to do.
class ChannelError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct ChannelServerSettings {
  protocol::SessionSettings sessions{};
  std::size_t max_message_bytes = net::max_message_bytes;
  /// Limit on data that waits for a switch to read.
  std::size_t max_queued_bytes = 2 * net::max_message_bytes;
  /// Switches at the same time; further ones are rejected with this reason.
  std::size_t max_connections = 4096;
  /// From the connection to the hello, including the TLS handshake.
  std::chrono::milliseconds hello_limit = std::chrono::seconds(5);
  /// How long a closed session may take to send its queue, and the switch to disconnect.
  std::chrono::milliseconds close_limit = std::chrono::seconds(1);
};

class ChannelServer {
public:
  /// The sink must outlive the server, and the io_context both.
  ChannelServer(boost::asio::io_context& io, protocol::ChannelSink& sink,
                ChannelServerSettings settings);
  ~ChannelServer();
  ChannelServer(const ChannelServer&) = delete;
  ChannelServer& operator=(const ChannelServer&) = delete;

  /// Replaces a leftover socket file; mode 0660. Throws ChannelError.
  void listen_unix(const std::string& path);
  /// Without TLS when `files` is empty. Returns the port. Throws ChannelError.
  std::uint16_t listen_tcp(const net::HostPort& where, const std::optional<net::TlsFiles>& tls);

  /// Dropped when the session has ended.
  void send(protocol::SessionNumber session, const control::ManagerMessage& message);
  /// Queued messages are still sent, within `close_limit`.
  void close(protocol::SessionNumber session, std::string_view why);
  void stop();

  [[nodiscard]] std::size_t connection_count() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

} // namespace tributary::southbound
