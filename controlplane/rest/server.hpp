// The HTTP server of the fabric manager: sockets, TLS, HTTP/1.1, JSON, and authentication; the
// Service interprets the requests (service.hpp). docs/protocol/manager-api.md is the contract.
//
// How to use it:
//
//   rest::Server server(context, settings, service);   binds every address, or throws ListenError
//   context.run();                                     requests are answered in the loop
//   server.stop();                                     no new connections; active ones end, and
//                                                      `connection_count()` falls to 0
//
// One coroutine per connection, all on the loop's thread. A connection answers its requests in
// order, and reads the next one when the last is answered. Each step has a time limit, each buffer
// a size, each caller a share of the connections: whatever a client sends or fails to send costs a
// bounded amount of memory and time and only its own connection.
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

/// An address that cannot be listened on, or an unusable certificate; says which and what to do.
class ListenError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct Limits {
  /// In total, without administrators'. Beyond it, callers with the most connections lose one
  /// (lib/net/connection_shares.hpp).
  std::size_t connections = 8192;
  /// For one job, or for one address without a token.
  std::size_t event_streams_per_caller = 32;
  /// For all callers without a token.
  std::size_t open_event_streams = 1024;
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = 1024 * 1024;
  /// For the bodies of all connections together.
  std::size_t buffered_bytes = 256 * 1024 * 1024;

  /// From the first byte of a request (on a new connection: from its start) to the end of the
  /// header, and for a TLS handshake.
  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_time{30'000};
  /// Between two requests of a connection.
  std::chrono::milliseconds idle_time{75'000};
  /// Time to send an answer, plus one second for every 64 KiB.
  std::chrono::milliseconds write_time{30'000};
  /// Between two keepalives of an event stream.
  std::chrono::milliseconds event_pause{15'000};
  /// Time to answer active requests when the server stops.
  std::chrono::milliseconds stop_time{3'000};
};

struct Settings {
  /// As in lib/net/address.hpp; port 0 selects a free one.
  std::vector<std::string> listen;
  /// PEM files; both or neither. With them TCP addresses speak TLS 1.2 or newer, and nothing else.
  std::string tls_certificate;
  std::string tls_key;
  /// PEM; a client may present a certificate that it has signed. "": none is asked for.
  std::string tls_ca;
  /// "": administrators use the Unix socket only.
  std::string administrator_token;
  Limits limits;
};

class Server {
public:
  /// The service must outlive the server. Throws ListenError.
  Server(boost::asio::io_context& context, const Settings& settings, api::Service& service);
  /// Closes every connection immediately.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void stop();
  /// Reads certificates and key again, for connections made from now on. Throws ListenError and
  /// keeps the old ones.
  void reload_certificate();
  /// Applies to future requests.
  void set_administrator_token(std::string token);

  /// The addresses in use, in the form of `Settings::listen`, with the actual ports.
  [[nodiscard]] const std::vector<std::string>& addresses() const;
  [[nodiscard]] std::size_t connection_count() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

/// docs/protocol/openapi.json, as of the build.
[[nodiscard]] std::string_view openapi_document();

} // namespace tributary::rest
