// Serves the control socket on the control thread's event loop, one coroutine per client.
//
// How to use it:
//
//   boost::asio::io_context context;
//   ControlServer server(context, socket_file.release_descriptor(), inspector);
//   context.run();
//   server.stop();      closes the listener and every connection; the coroutines end in the loop
//
// A client costs at most one request line and one answer of memory, and one that does not read only
// delays itself: after `client_timeout` without progress its connection is closed.
#pragma once

#include "dataplane/management/inspector.hpp"
#include "dataplane/management/request.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string>

namespace tributary::management {

class ControlServer {
public:
  static constexpr std::size_t max_clients = 128;
  static constexpr std::chrono::seconds client_timeout{30};
  static constexpr std::chrono::milliseconds capture_interval{10};

  /// Takes ownership of the listening descriptor. The inspector outlives the server and the loop.
  ControlServer(boost::asio::io_context& context, int listening_descriptor, Inspector& inspector);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  void stop();
  [[nodiscard]] std::size_t client_count() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

} // namespace tributary::management
