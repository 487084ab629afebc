// Serves /metrics over HTTP on the control thread's event loop: to Prometheus, to a person's curl.
//
//   MetricsServer server(context, net::parse_address("127.0.0.1:9464", net::Purpose::listen),
//                        inspector);
//   context.run();
//   server.stop();      closes the listener and every connection; the coroutines end in the loop
//
// A scrape reads counters that workers write anyway, and asks them nothing. One request per
// connection: the request's line is all that is looked at, and the answer says how long it is, so
// that who is cut off in the middle (the switch ends) knows. Clients that send or read nothing for
// `client_patience` are closed, and at most `max_clients` are served at a time.
#pragma once

#include "dataplane/management/inspector.hpp"
#include "lib/net/address.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace tributary::management {

class MetricsServer {
public:
  static constexpr std::size_t max_clients = 32;
  static constexpr std::size_t max_request_bytes = 16 * 1024;
  static constexpr std::chrono::seconds client_patience{10};

  /// Listens from now on; the inspector outlives the server and the loop. Throws net::ListenFailed
  /// and service::SocketError, which say what to do.
  MetricsServer(boost::asio::io_context& context, const net::Address& where, Inspector& inspector);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  void stop();
  /// What it listens on: "http://127.0.0.1:9464/metrics", several with a comma, "unix:/run/x.sock".
  /// A port that was 0 is the one that was free.
  [[nodiscard]] std::string where() const;
  [[nodiscard]] std::size_t client_count() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

} // namespace tributary::management
