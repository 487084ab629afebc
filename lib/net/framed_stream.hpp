// One end of a control channel: protobuf messages over a connected socket, in the clear or through
// TLS, each preceded by its length (framing.hpp). Both the switch and the manager use it; they
// differ in their handling of messages, and in when they end the stream.
//
//   FramedStream stream(std::move(socket), {.other_end = "the switch"});
//   std::string problem = co_await stream.secure(std::move(context), net::TlsRole::server);
//   stream.send(message);                   never blocks; `run` writes it
//   std::string why = co_await stream.run(user);       until the end; the socket is closed then
//
//   stream.finish("why", 1s);               sent messages still leave; nothing is received
//   stream.end("why");                      immediately
//
// The stream ends on its own, and `run` returns the reason, when the other end disconnects, sends
// an invalid message, announces one that is too long, or does not read while more than
// `queued_bytes` wait for it. Of several reasons the first counts. Silence is for the user to
// detect.
//
// Runs entirely on the thread of the socket's executor. It must not move, and must outlive its
// coroutines.
#pragma once

#include "lib/net/framing.hpp"
#include "lib/net/tls_context.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include <google/protobuf/message_lite.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::net {

struct FramedStreamSettings {
  std::string other_end; ///< its name in reasons: "the switch"
  /// Upper limit of one received message.
  std::size_t message_bytes = max_message_bytes;
  /// Upper limit of bytes that the other end has not read.
  std::size_t queued_bytes = 2 * max_message_bytes;
};

class FramedStreamUser {
public:
  /// Bytes have arrived: the user takes the whole messages among them (`take_messages`). Returns
  /// their error, which ends the stream, or "". Exceptions propagate from `run`, and end the
  /// stream, too.
  [[nodiscard]] virtual std::string arrived(FrameReader& frames) = 0;

protected:
  ~FramedStreamUser() = default;
};

class FramedStream {
public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  FramedStream(Socket socket, FramedStreamSettings settings);
  FramedStream(const FramedStream&) = delete;
  FramedStream& operator=(const FramedStream&) = delete;

  [[nodiscard]] Socket::executor_type executor() { return socket_.get_executor(); }

  /// Before `run`: the TLS handshake. `host` is the server that a client expects. Returns the
  /// error, or "".
  boost::asio::awaitable<std::string> secure(std::shared_ptr<boost::asio::ssl::context> context,
                                             TlsRole role, std::string host = {});
  /// Waits until the other end has sent something, or the stream is ended.
  boost::asio::awaitable<void> readable();
  /// The names in the other end's certificate; empty without TLS.
  [[nodiscard]] std::optional<std::vector<std::string>> names();

  /// Call once. Returns why the stream ended. The user is not called any more once it is being
  /// ended.
  boost::asio::awaitable<std::string> run(FramedStreamUser& user);

  /// Dropped once the stream is being ended. A message that is too long ends it.
  void send(const google::protobuf::MessageLite& message);
  /// Discards messages that have not begun to leave.
  void unsend() { queued_.clear(); }

  /// Ends the stream once sent messages have left and the other end has disconnected, or after
  /// `limit`.
  void finish(std::string why, std::chrono::milliseconds limit);
  void end(std::string why);
  [[nodiscard]] bool has_ended() const { return end_.has_value(); }

private:
  template <typename Stream>
  boost::asio::awaitable<std::string> carry(Stream& stream, FramedStreamUser& user);
  template <typename Stream>
  boost::asio::awaitable<std::string> read(Stream& stream, FramedStreamUser& user);
  template <typename Stream> boost::asio::awaitable<std::string> write(Stream& stream);
  boost::asio::awaitable<std::string> watch_limit();
  [[nodiscard]] std::string description_of(const boost::system::error_code& error) const;
  void close_socket();

  Socket socket_;
  FramedStreamSettings settings_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_; ///< once the handshake is done
  boost::asio::steady_timer wake_;  ///< cancelled when there is something to write
  boost::asio::steady_timer limit_; ///< for `finish`
  FrameReader frames_;
  std::string queued_;
  std::size_t leaving_ = 0;        ///< bytes being written
  std::optional<std::string> end_; ///< why it is being ended
  std::exception_ptr thrown_;      ///< from the user
};

} // namespace tributary::net
