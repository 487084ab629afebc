// One switch's connection: bytes to messages and back, from the handshake to the end. What the
// messages mean is the user's business.
//
//   accepted --(TLS handshake)--> reading --> first message --> user.greeted --> messages ... end
//
// It ends when the switch hangs up, sends what is no message, announces one that is too long, does
// not read, or says nothing in time before `greeting_over`; or by `close`, after what was sent. The
// user hears of its end exactly once, through `ended`, never from within a call of its own.
//
// All of it runs on the thread of the io_context. The coroutines keep the connection alive; the
// user must outlive them, or call `cut_off`.
#pragma once

#include "tributary/control.pb.h"
#include "tributary/control_framing.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::install {

class Connection;

class ConnectionUser {
public:
  /// The first message. `names` are those of the switch's certificate; none without TLS.
  virtual void greeted(Connection& connection, const control::SwitchMessage& message,
                       const std::optional<std::vector<std::string>>& names) = 0;
  /// Any other one.
  virtual void received(Connection& connection, const control::SwitchMessage& message) = 0;
  /// Something has come, a message or a part of one.
  virtual void alive(Connection& connection) = 0;
  virtual void ended(Connection& connection, std::string_view why) = 0;

protected:
  ~ConnectionUser() = default;
};

struct ConnectionLimits {
  std::size_t message_bytes = control::max_message_bytes;
  std::size_t queued_bytes = 2 * control::max_message_bytes;
  std::chrono::milliseconds hello = std::chrono::seconds(5);
  std::chrono::milliseconds close = std::chrono::seconds(1);
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  /// Without TLS when there is no context.
  Connection(Socket socket, std::optional<boost::asio::ssl::context> tls, std::string peer,
             const ConnectionLimits& limits, ConnectionUser& user);

  /// Once.
  void start();
  /// Never blocks. Too much that waits ends the connection.
  void send(const control::ManagerMessage& message);
  /// Takes back what was sent and has not begun to leave.
  void unsend() { queued_.clear(); }
  /// The switch has been taken on: it may be silent from here on.
  void greeting_over() { hello_timer_.cancel(); }
  /// Ends it when what was sent has gone out. Nothing is received any more.
  void close(std::string why);
  /// Ends it at once.
  void fail(std::string why);
  /// Ends it at once, and the user hears nothing any more.
  void cut_off();

  /// "127.0.0.1:40112", "unix"
  [[nodiscard]] const std::string& peer() const { return peer_; }

private:
  boost::asio::awaitable<void> run();
  template <typename Stream> boost::asio::awaitable<std::string> serve(Stream& stream);
  template <typename Stream> boost::asio::awaitable<std::string> read(Stream& stream);
  template <typename Stream> boost::asio::awaitable<std::string> write(Stream& stream);
  /// What is whole of what was read. Says what is wrong with it.
  [[nodiscard]] std::string hand_over(std::span<const std::byte> bytes);
  void close_socket();

  Socket socket_;
  std::optional<boost::asio::ssl::context> tls_;
  std::string peer_;
  ConnectionLimits limits_;
  ConnectionUser* user_; ///< null: cut off
  boost::asio::steady_timer hello_timer_;
  boost::asio::steady_timer close_timer_;
  boost::asio::steady_timer wake_; ///< cancelled when there is something to write
  control::FrameReader reader_;
  std::optional<std::vector<std::string>> names_;
  bool greeted_ = false;
  std::string queued_;
  std::size_t leaving_ = 0;        ///< bytes being written
  std::optional<std::string> end_; ///< why it is being ended
};

} // namespace tributary::install
