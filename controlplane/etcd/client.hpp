// A client of etcd's JSON gateway: one connection at a time, to the first of several endpoints that
// answers; over TCP or TLS, as a user with a password where etcd has users.
//
//   Client client(context, settings);
//   Reply reply = co_await client.call(look_request(keys), 400ms);
//   Failure end = co_await client.stream(watch_request(keys, 7), [](std::string_view bytes) {...});
//
// A failure that etcd did not name, or that another endpoint may not have, closes the connection,
// and the next call goes to the next endpoint. Nothing is repeated here: the caller knows what may
// be. A token that has expired is thrown away, and the next call gets another.
//
// Names of hosts are looked up beside the calls, and the last addresses stay in use while a look-up
// takes its time: a name server that is away does not suspend a manager.
//
// etcd's gateway does not take the user's name from a client's certificate: a certificate is enough
// where etcd only demands one (--client-cert-auth), and with users the password is needed as well.
//
// Shell: the thread of `context`. One call or stream at a time.
#pragma once

#include "controlplane/etcd/protocol/messages.hpp"
#include "lib/net/address.hpp"
#include "lib/net/tls_context.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tributary::etcd {

using namespace protocol; // this room speaks nothing else

struct Endpoint {
  bool tls = false;
  net::HostPort place;
  /// "https://etcd-a:2379"
  [[nodiscard]] std::string text() const;
};
/// "http://HOST[:PORT]", "https://HOST[:PORT]"; port 2379 unless given. Throws net::AddressError.
[[nodiscard]] Endpoint parse_endpoint(std::string_view text);

struct ClientSettings {
  std::vector<Endpoint> endpoints; ///< at least one
  net::TlsFiles tls;               ///< without a CA: the authorities that this machine trusts
  std::string user;                ///< "": none
  std::string password;
};

class Client {
public:
  using Limit = std::chrono::milliseconds;

  Client(boost::asio::io_context& context, const ClientSettings& settings);

  [[nodiscard]] boost::asio::awaitable<Reply> call(Request request, Limit limit);
  /// The answer to GET.
  [[nodiscard]] boost::asio::awaitable<Reply> get(std::string path, Limit limit);
  /// Hands over the body of the answer as it arrives, until it ends, `take` throws or `close` is
  /// called. `limit`: until the answer begins.
  [[nodiscard]] boost::asio::awaitable<Failure> stream(Request request, Limit limit,
                                                       std::function<void(std::string_view)> take);
  /// Ends a call or stream that is under way.
  void close();
  /// The endpoint in use.
  [[nodiscard]] std::string place() const { return endpoints_[at_]->endpoint.text(); }

private:
  using Clock = std::chrono::steady_clock;
  using Tcp = boost::beast::tcp_stream;
  using Tls = boost::beast::ssl_stream<Tcp>;
  struct Known {
    Endpoint endpoint;
    std::vector<boost::asio::ip::tcp::endpoint> addresses{};
    std::string look_up_error{};
    bool is_looked_up = false; ///< a look-up is under way
  };

  [[nodiscard]] bool is_open() const { return !std::holds_alternative<std::monostate>(stream_); }
  /// "" once it is open; otherwise why not.
  [[nodiscard]] boost::asio::awaitable<std::string> open(Clock::time_point end);
  [[nodiscard]] static boost::asio::awaitable<void> look_up(boost::asio::io_context& context,
                                                            std::shared_ptr<Known> known);
  [[nodiscard]] boost::asio::awaitable<Reply> login(Clock::time_point end);
  [[nodiscard]] boost::asio::awaitable<Reply> exchange(std::string method, std::string path,
                                                       std::string body, Clock::time_point end);
  /// Closes, takes the next endpoint, and returns what it is as a failure.
  [[nodiscard]] Failure give_up(const std::string& why);
  Tcp& tcp();

  boost::asio::io_context& context_;
  std::vector<std::shared_ptr<Known>> endpoints_; ///< shared with look-ups
  std::size_t at_ = 0;
  net::TlsSource tls_files_;
  std::shared_ptr<boost::asio::ssl::context> tls_; ///< of the open connection
  std::string user_;
  std::string password_;
  std::string token_;
  std::variant<std::monostate, Tcp, Tls> stream_;
  boost::beast::flat_buffer buffer_;
};

} // namespace tributary::etcd
