// One switch's connection from the handshake to the end: a framed stream with an authenticated peer
// and a deadline for its first message. The user interprets the messages.
//
//   accepted --(TLS handshake)--> reading --> first message --> user.greeted --> messages ... end
//
// It ends when the switch disconnects, sends an invalid message, announces one that is too long,
// does not read, or is silent past `greeting_over`; or by `close`, after the queue was sent. The
// user is notified of the end exactly once, through `ended`, never from within a call of its own.
//
// All of it runs on the thread of the io_context. The coroutines keep the connection alive; the
// user must outlive them, or call `cut_off`.
#pragma once

#include "lib/net/framed_stream.hpp"
#include "lib/net/handshake_turns.hpp"
#include "tributary/control.pb.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::southbound {

class Connection;

class ConnectionUser {
public:
  /// The first message. `names` are those of the switch's certificate; nothing without TLS.
  virtual void greeted(Connection& connection, const control::SwitchMessage& message,
                       const std::optional<std::vector<std::string>>& names) = 0;
  /// Any later message.
  virtual void received(Connection& connection, const control::SwitchMessage& message) = 0;
  /// Data arrived, a message or a part of one.
  virtual void alive(Connection& connection) = 0;
  virtual void ended(Connection& connection, std::string_view why) = 0;

protected:
  ~ConnectionUser() = default;
};

struct ConnectionLimits {
  std::size_t message_bytes = net::max_message_bytes;
  std::size_t queued_bytes = 2 * net::max_message_bytes;
  std::chrono::milliseconds hello = std::chrono::seconds(5);
  std::chrono::milliseconds close = std::chrono::seconds(1);
};

class Connection final : public std::enable_shared_from_this<Connection>,
                         private net::FramedStreamUser {
public:
  using Socket = net::FramedStream::Socket;
  struct Tls {
    std::shared_ptr<boost::asio::ssl::context> context; ///< empty: without TLS
    std::shared_ptr<net::HandshakeTurns> turns;
    std::string address; ///< handshakes of one address wait for each other
  };

  Connection(Socket socket, Tls tls, std::string peer, const ConnectionLimits& limits,
             ConnectionUser& user);

  /// Call it once.
  void start();
  /// Never blocks. Too long a queue ends the connection.
  void send(const control::ManagerMessage& message) { stream_.send(message); }
  /// Removes messages from the queue that have not started to leave.
  void unsend() { stream_.unsend(); }
  /// The switch is accepted: the deadline for the first message ends.
  void greeting_over() { hello_timer_.cancel(); }
  /// Ends it when the queue is sent. Nothing is received any more.
  void close(std::string why);
  /// Ends it immediately.
  void fail(std::string why);
  /// Ends it immediately, and the user is not notified any more.
  void cut_off();

  /// "127.0.0.1:40112", "unix"
  [[nodiscard]] const std::string& peer() const { return peer_; }
  /// Address of the peer: "127.0.0.1", "" at a Unix socket.
  [[nodiscard]] const std::string& address() const { return tls_.address; }

private:
  boost::asio::awaitable<void> run();
  std::string arrived(net::FrameReader& frames) override;

  net::FramedStream stream_;
  Tls tls_;
  std::string peer_;
  std::chrono::milliseconds hello_limit_;
  std::chrono::milliseconds close_limit_;
  ConnectionUser* user_; ///< null: cut off
  boost::asio::steady_timer hello_timer_;
  bool greeted_ = false;
};

} // namespace tributary::southbound
