// The HTTP server of the fabric manager: sockets, TLS, HTTP/1.1, JSON, and who asks; what it means
// is the Service's affair (service.hpp). docs/protocol/manager-api.md is the contract.
//
// How to use it:
//
//   rest::Server server(context, settings, service);   binds every address, or throws ListenError
//   context.run();                                     requests are answered in the loop
//   server.stop();                                     no new connections; those at work end, and
//                                                      `connection_count()` falls to 0
//
// One coroutine per connection, all on the loop's thread. A connection answers one request after
// the other, in their order, and reads the next one when the last is answered. Each step has a time
// limit, each buffer a size, each caller a share of the connections: whatever a client sends or
// fails to send, it costs a bounded amount of memory and time and only its own connection.
#pragma once

#include "controlplane/api/service.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::rest {

/// An address cannot be listened on, or the certificate not be used; says which and what to do.
class ListenError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct Limits {
  /// All together; administrators' are not counted. Beyond it those make room who have most
  /// (lib/net/connection_shares.hpp).
  std::size_t connections = 8192;
  /// Of one job, or of one address that shows no token.
  std::size_t event_streams_per_caller = 32;
  /// Of all that show no token.
  std::size_t open_event_streams = 1024;
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = 1024 * 1024;
  /// Of the bodies of all connections together.
  std::size_t buffered_bytes = 256 * 1024 * 1024;

  /// From the first byte of a request (of a new connection: from its beginning) to the end of the
  /// header, and of a TLS handshake.
  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_time{30'000};
  /// Between two requests of a connection.
  std::chrono::milliseconds idle_time{75'000};
  /// For sending an answer; long ones have a second more for every 64 KiB.
  std::chrono::milliseconds write_time{30'000};
  /// Between two signs of life on an event stream.
  std::chrono::milliseconds event_pause{15'000};
  /// What requests at work have to be answered in when the server stops.
  std::chrono::milliseconds stop_time{3'000};
};

struct Settings {
  /// As lib/net/address.hpp has them; port 0 takes a free one.
  std::vector<std::string> listen;
  /// PEM files; both or neither. With them TCP addresses speak TLS 1.2 or newer, and nothing else.
  std::string tls_certificate;
  std::string tls_key;
  /// "": administrators come through the Unix socket only.
  std::string administrator_token;
  Limits limits;
};

class Server {
public:
  /// The service outlives the server. Throws ListenError.
  Server(boost::asio::io_context& context, const Settings& settings, api::Service& service);
  /// Closes every connection at once.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void stop();
  /// Reads certificate and key again, for connections made from now on. Throws ListenError and
  /// goes on with the old ones.
  void reload_certificate();
  /// For requests from now on.
  void set_administrator_token(std::string token);

  /// Where it listens, as `Settings::listen` writes it, with the ports that were found free.
  [[nodiscard]] const std::vector<std::string>& addresses() const;
  [[nodiscard]] std::size_t connection_count() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

/// docs/protocol/openapi.json, as it was when this was built.
[[nodiscard]] std::string_view openapi_document();

} // namespace tributary::rest
