// The byte stream of one connection, over TCP, a Unix socket, or TLS. Errors are returned as
// values: a client that disconnects is normal.
#pragma once

#include "lib/net/handshake_turns.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tributary::rest {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

struct Received {
  error_code error;
  std::size_t bytes = 0;
};

class Transport {
public:
  virtual ~Transport() = default;
  /// The TLS handshake. Call it once, before anything else.
  virtual asio::awaitable<error_code> open() = 0;
  virtual asio::awaitable<Received> read(asio::mutable_buffer into) = 0;
  /// Writes all of it.
  virtual asio::awaitable<error_code> write(asio::const_buffer bytes) = 0;
  /// Ends the sending direction. Data that the client still sends can be read from `socket`.
  virtual asio::awaitable<void> finish() = 0;
  virtual Socket& socket() = 0;
  /// Those in the client's certificate, which has been verified; empty without one.
  [[nodiscard]] virtual std::vector<std::string> certified_names() const { return {}; }

  /// Ends pending operations with an error.
  virtual void cancel() {
    error_code ignored;
    socket().cancel(ignored);
  }
  void close() {
    error_code ignored;
    socket().close(ignored);
  }
};

[[nodiscard]] std::unique_ptr<Transport> plain_transport(Socket socket);
/// Handshakes of one `address` wait for each other.
[[nodiscard]] std::unique_ptr<Transport> tls_transport(Socket socket,
                                                       std::shared_ptr<asio::ssl::context> context,
                                                       std::shared_ptr<net::HandshakeTurns> turns,
                                                       std::string address);

} // namespace tributary::rest
