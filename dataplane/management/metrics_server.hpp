// Serves /metrics over HTTP on the control thread's event loop, to Prometheus or curl.
//
//   MetricsServer server(context, net::parse_address("127.0.0.1:9464", net::Purpose::listen),
//                        inspector);
//   context.run();
//   server.stop();      closes the listener and every connection; the coroutines end in the loop
//
// A scrape reads counters that workers write anyway, without involving them. One request per
// connection: only the request line is read, and the answer has its length, so that a client that
// is cut off (the switch ends) notices. Clients that send or read nothing for `client_timeout` are
// closed, and at most `max_clients` are served at a time.
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
  static constexpr std::chrono::seconds client_timeout{10};

  /// Starts listening; the inspector outlives the server and the loop. Throws net::ListenFailed and
  /// service::SocketError, whose messages say what to do.
  MetricsServer(boost::asio::io_context& context, const net::Address& where, Inspector& inspector);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  void stop();
  /// Its addresses: "http://127.0.0.1:9464/metrics", several with commas, "unix:/run/x.sock". Port
  /// 0 is replaced by the port in use.
  [[nodiscard]] std::string where() const;
  [[nodiscard]] std::size_t client_count() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

} // namespace tributary::management
