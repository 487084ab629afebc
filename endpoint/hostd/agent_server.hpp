// Serves the agent's socket on the event loop, one coroutine per connection: a line of JSON, and an
// answer, with descriptors where it has some; then the next.
//
//   AgentServer server(context, socket_file.release_descriptor(), service);
//   context.run();
//   server.stop();      closes the listener and every connection
//
// A connection costs at most one request line and one answer of memory. One that does not read its
// answer is closed after `timeout`, and so is one without a request for as long, unless the service
// keeps it. The limits of connections are those of users, all together and each: root, whose
// prologs declare jobs, has its own.
#pragma once

#include "endpoint/agent/job.hpp"
#include "lib/net/file_descriptor.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::hostd {

struct Reply {
  std::string line; ///< with its newline
  std::vector<net::FileDescriptor> descriptors{};
};

class AgentService {
public:
  using Connection = std::uint64_t;

  [[nodiscard]] virtual Reply answer(const host_agent::Peer& peer, Connection connection,
                                     std::string_view line) = 0;
  /// The answer to what cannot be a request.
  [[nodiscard]] virtual std::string refuse(const std::string& why) = 0;
  /// Whether the connection may be silent.
  [[nodiscard]] virtual bool keeps(Connection connection) const = 0;
  virtual void closed(Connection connection) = 0;

protected:
  ~AgentService() = default;
};

class AgentServer {
public:
  static constexpr std::size_t most_connections = 1024;
  static constexpr std::size_t most_connections_of_user = 256;
  static constexpr std::chrono::seconds timeout{10};

  /// Takes ownership of the listening descriptor. The service outlives the server and the loop.
  AgentServer(boost::asio::io_context& context, int listening_descriptor, AgentService& service);
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  void stop();

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

} // namespace tributary::hostd
