// One end of a control channel: protobuf messages over a connected socket, in the clear or through
// TLS, each behind its length (framing.hpp). Both the switch and the manager stand on it; they
// differ in what they do with a message, and in who ends the stream how.
//
//   FramedStream stream(std::move(socket), {.other_end = "the switch"});
//   std::string problem = co_await stream.secure(std::move(context), net::TlsRole::server);
//   stream.send(message);                   never blocks; leaves when `run` gets to it
//   std::string why = co_await stream.run(user);       until it is over; then the socket is closed
//
//   stream.finish("why", 1s);               what was sent still goes out; nothing is received
//   stream.end("why");                      at once
//
// The stream ends by itself, and `run` says why, when the other end hangs up, sends what is no
// message, announces one that is too long, or does not read while more than `queued_bytes` wait for
// it. Of several reasons the first counts. Whoever is silent is its user's affair.
//
// All of it runs on the thread of the socket's executor. It stays where it is, and longer than its
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
  std::string other_end; ///< as reasons call it: "the switch"
  /// Of one message that comes.
  std::size_t message_bytes = max_message_bytes;
  /// Waiting to be read by the other end.
  std::size_t queued_bytes = 2 * max_message_bytes;
};

class FramedStreamUser {
public:
  /// Some bytes have come: the whole messages among them are to be taken out (`take_messages`).
  /// Answers what is wrong with them, which ends the stream, or "". What it throws comes out of
  /// `run`, and ends the stream, too.
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

  /// Before `run`: the TLS handshake. `host` is who a client wants to talk to. Answers what is
  /// wrong, or "".
  boost::asio::awaitable<std::string> secure(std::shared_ptr<boost::asio::ssl::context> context,
                                             TlsRole role, std::string host = {});
  /// Until the other end has sent something, or the stream is ended.
  boost::asio::awaitable<void> readable();
  /// The names of the certificate that the other end has shown; nothing in the clear.
  [[nodiscard]] std::optional<std::vector<std::string>> names();

  /// Once. Answers why it ended. The user is not called any more once the stream is being ended.
  boost::asio::awaitable<std::string> run(FramedStreamUser& user);

  /// Dropped once the stream is being ended. One that is too long ends it.
  void send(const google::protobuf::MessageLite& message);
  /// Takes back what was sent and has not begun to leave.
  void unsend() { queued_.clear(); }

  /// Ends it when what was sent has gone out and the other end has hung up, or after `limit`.
  void finish(std::string why, std::chrono::milliseconds limit);
  void end(std::string why);
  [[nodiscard]] bool ending() const { return end_.has_value(); }

private:
  template <typename Stream>
  boost::asio::awaitable<std::string> carry(Stream& stream, FramedStreamUser& user);
  template <typename Stream>
  boost::asio::awaitable<std::string> read(Stream& stream, FramedStreamUser& user);
  template <typename Stream> boost::asio::awaitable<std::string> write(Stream& stream);
  boost::asio::awaitable<std::string> watch_limit();
  [[nodiscard]] std::string what_happened(const boost::system::error_code& error) const;
  void close_socket();

  Socket socket_;
  FramedStreamSettings settings_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_; ///< once the handshake is done
  boost::asio::steady_timer wake_;  ///< cancelled when there is something to write
  boost::asio::steady_timer limit_; ///< of `finish`
  FrameReader frames_;
  std::string queued_;
  std::size_t leaving_ = 0;        ///< bytes being written
  std::optional<std::string> end_; ///< why it is being ended
  std::exception_ptr thrown_;      ///< by the user
};

} // namespace tributary::net
