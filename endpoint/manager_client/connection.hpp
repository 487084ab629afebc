// One connection to a fabric manager: a Unix socket, TCP, or TLS over TCP. Every operation has a
// deadline, and can be cancelled from another thread.
//
// An event loop of its own runs inside the calls alone. One thread at a time, but for `cancel`.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"
#include "lib/net/address_round.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace tributary::manager_client {

class Connection {
public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using ErrorCode = boost::system::error_code;

  /// Throws ManagerError when the certificate authority of the settings cannot be read, and
  /// std::invalid_argument without an address.
  explicit Connection(const ClientSettings& settings);
  ~Connection();

  [[nodiscard]] bool is_open() const { return !std::holds_alternative<std::monostate>(stream_); }
  /// Closes an open connection and connects again, to the present address. The limit is that of
  /// each of its host's addresses, and of the TLS handshake.
  void open(std::chrono::milliseconds limit);
  void close();

  // ---- several addresses ----

  [[nodiscard]] const Address& address() const { return settings_.addresses[round_.at()]; }
  /// A new round of addresses begins with the present one.
  void begin_round() { round_.begin(); }
  /// The manager has named the leader's address; ignored unless it is among those of the settings.
  void name_leader(std::string_view text);
  /// Moves to the next address of the round, and closes. False when all were asked.
  [[nodiscard]] bool advance();

  /// A request with the headers common to all.
  [[nodiscard]] Request request(std::string_view method, std::string_view path) const;
  void send(const Request& request, TimePoint deadline);
  /// Reads a whole answer, or as much as the parser wants.
  template <typename Parser> void receive(Parser& parser, TimePoint deadline) {
    demand(perform(deadline,
                   [&](auto& stream, auto handler) {
                     boost::beast::http::async_read(stream, buffer_, parser, handler);
                   }),
           "waiting for its answer");
  }
  template <typename Parser> void receive_header(Parser& parser, TimePoint deadline) {
    demand(perform(deadline,
                   [&](auto& stream, auto handler) {
                     boost::beast::http::async_read_header(stream, buffer_, parser, handler);
                   }),
           "waiting for its answer");
  }
  /// Begins to read some more; `handler(ErrorCode, std::size_t)` runs inside a later `wait`.
  template <typename Parser, typename Handler> void begin_receive(Parser& parser, Handler handler) {
    on_stream([&](auto& stream) {
      boost::beast::http::async_read_some(stream, buffer_, parser, handler);
    });
  }
  /// Runs handlers until `done()` or the deadline; returns whether it is done. Throws ManagerError
  /// once cancelled.
  bool wait(const std::function<bool()>& done, TimePoint deadline);
  /// Throws ManagerError if there is an error. `doing` completes "while ...".
  void demand(const ErrorCode& error, std::string_view doing) const;

  /// Any thread.
  void cancel();

private:
  using UnixSocket = boost::asio::local::stream_protocol::socket;
  using TcpSocket = boost::asio::ip::tcp::socket;
  using TlsStream = boost::asio::ssl::stream<TcpSocket>;

  template <typename F> void on_stream(F&& f) {
    std::visit(
        [&](auto& stream) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(stream)>, std::monostate>) {
            f(stream);
          }
        },
        stream_);
  }
  /// Runs the operation that `begin(stream, handler)` begins to its end, at most until the
  /// deadline; then, and when cancelled, the connection is closed.
  template <typename Begin> ErrorCode perform(TimePoint deadline, Begin&& begin) {
    std::optional<ErrorCode> outcome;
    on_stream([&](auto& stream) {
      begin(stream, [&outcome](const ErrorCode& error, auto&&...) { outcome = error; });
    });
    return finish(outcome, deadline);
  }
  ErrorCode finish(std::optional<ErrorCode>& outcome, TimePoint deadline);
  void run_until(const std::function<bool()>& done, TimePoint deadline);
  void break_off();
  void connect_unix(TimePoint deadline);
  void connect_tcp(std::chrono::milliseconds limit);
  void begin_tls(TimePoint deadline);

  /// "the fabric manager at ..."
  [[nodiscard]] std::string place() const { return "the fabric manager at " + address().text(); }

  ClientSettings settings_;
  net::AddressRound round_;
  std::atomic<bool> cancelled_ = false;
  boost::asio::io_context io_{1};
  std::optional<boost::asio::ssl::context> tls_; ///< if an address is https
  std::variant<std::monostate, UnixSocket, TcpSocket, TlsStream> stream_;
  boost::beast::flat_buffer buffer_;
};

} // namespace tributary::manager_client
