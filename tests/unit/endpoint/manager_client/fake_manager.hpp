// A fabric manager for tests: an HTTP server whose answers the test decides. It listens on a Unix
// socket, or on loopback with or without TLS, and can be stopped and started again at the same
// address. Handlers run on threads of the server's connections, one at a time.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"
#include "lib/net/file_descriptor.hpp"
#include "tests/support/scratch_directory.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tributary::manager_client::test {

/// Certificates made for one test by the openssl program.
struct Certificates {
  explicit Certificates(const tributary::test::ScratchDirectory& directory);
  std::string authority;       ///< signed `certificate`
  std::string other_authority; ///< signed nothing
  std::string certificate;     ///< for the name "localhost"
  std::string key;
};

struct FakeRequest {
  std::string method;
  std::string target;
  std::string body;
  std::map<std::string, std::string> fields; ///< names in small letters
};
struct FakeResponse {
  unsigned status = 200;
  std::string body = "{}";
  std::map<std::string, std::string> fields{};
  /// Written raw behind a header without length, in these pieces, instead of a body.
  std::vector<std::string> stream{};
  /// Answer nothing and close the connection.
  bool hang_up = false;
};

class FakeManager {
public:
  using Handler = std::function<FakeResponse(const FakeRequest&)>;
  enum class On { unix_socket, tcp, tls };

  /// Starts. TLS needs certificates.
  explicit FakeManager(Handler handler, On on = On::unix_socket,
                       const Certificates* certificates = nullptr);
  ~FakeManager();
  FakeManager(const FakeManager&) = delete;
  FakeManager& operator=(const FakeManager&) = delete;

  void stop();
  void start();
  void set_handler(Handler handler);

  [[nodiscard]] std::string url() const;
  [[nodiscard]] ClientSettings settings() const;
  [[nodiscard]] std::vector<FakeRequest> requests() const;
  [[nodiscard]] std::size_t connections() const { return connections_; }
  /// Suspends a handler until the server stops, or for this long.
  void hold(std::chrono::milliseconds longest);

private:
  using Socket = boost::asio::generic::stream_protocol::socket;

  void accept();
  void serve(Socket socket);
  template <typename Stream> void converse(Stream& stream);

  tributary::test::ScratchDirectory directory_;
  On on_;
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_server};
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> connections_ = 0;

  mutable std::mutex mutex_; ///< of all that follows
  std::condition_variable stopped_;
  Handler handler_;
  std::vector<FakeRequest> requests_;
  std::set<int> open_; ///< descriptors of connections
  bool running_ = false;
  net::FileDescriptor listener_;
  std::vector<std::thread> threads_; ///< of connections

  std::mutex turn_; ///< one handler at a time
  std::thread acceptor_;
};

} // namespace tributary::manager_client::test
