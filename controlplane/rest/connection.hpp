// One client's connection: each request in turn is read, checked, handed to the service, and
// answered. Event loop thread.
//
//   header --> refused? answer, close       408 413 431 400; 404 405 415 before the body is read
//     |
//   body ----> refused? answer, close       408 413 400
//     |
//   route.ask(service, ...)                 400 keeps the connection
//     |
//   the Reply, immediately or later -----> answer, next request
//
// The next request is parsed when the last one is answered, so that pipelined requests are answered
// in order. If a connection ends before its answer, the Reply has no effect. A connection is closed
// gracefully: data that the client still sends is read for a while, because closing with unread
// bytes would reset the connection and lose the answer.
#pragma once

#include "controlplane/rest/deadline.hpp"
#include "controlplane/rest/event_stream.hpp"
#include "controlplane/rest/request_reader.hpp"
#include "controlplane/rest/response.hpp"
#include "controlplane/rest/router.hpp"
#include "controlplane/rest/shared.hpp"
#include "controlplane/rest/transport.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::rest {

struct Peer {
  std::string name{}; ///< "10.1.2.3", "2001:db8:1:2::/64", "user 1000"
  bool administrator = false;
  net::ConnectionShares::Id id = 0;           ///< of the connection
  std::vector<std::string> certified_names{}; ///< once the connection is open
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(std::shared_ptr<Shared> shared, std::unique_ptr<Transport> transport, Peer peer);

  /// Until the connection is over. `busy`: too many connections; this one is only answered so.
  asio::awaitable<void> run(bool busy);
  /// The server stops: ends an idle connection or an event stream now, any other after its current
  /// answer.
  void stop();
  /// Ends all operations.
  void close();

private:
  /// How an answer is sent.
  struct Manner {
    bool keep_alive = false;
    bool with_body = true;
  };
  class Pending;

  /// Whether the connection continues.
  asio::awaitable<bool> serve_one();
  asio::awaitable<bool> refuse_busy();
  /// Checks without the body: a refusal, or nothing, with match and call filled in.
  [[nodiscard]] std::optional<Response> refuse_early(Match& match, api::Call& call);
  /// Nothing when the connection was an event stream, which is over now.
  asio::awaitable<std::optional<Response>> respond(const api::Route& route, const api::Call& call,
                                                   bool with_body);
  asio::awaitable<api::Answer> ask(const api::Route& route, const api::Call& call);
  /// In parts: the loop runs other work between them.
  asio::awaitable<Response> metrics();
  /// Answers that need no call of the service.
  [[nodiscard]] Response respond_alone(api::Route::Kind kind) const;
  /// A file of the web page: the one that the path names, or the page itself.
  [[nodiscard]] static Response page(const api::Call& call);
  [[nodiscard]] Response kept_events(const api::Caller& caller,
                                     const api::EventsRequest& request) const;
  /// Why this caller may not have another stream, or nothing.
  [[nodiscard]] std::optional<api::Answer> refuse_stream(const api::Caller& caller) const;
  /// The rest of the connection as an event stream.
  asio::awaitable<void> stream(const api::Caller& caller);
  /// The caller to whose share of the connections this one counts from now on.
  void note_caller(const api::Caller& caller);
  /// False when the client is gone, or the connection closed because of `manner`.
  asio::awaitable<bool> send(Response response, Manner manner);
  asio::awaitable<void> finish();

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Transport> transport_;
  Peer peer_;
  std::string caller_; ///< "job red", or the peer's name; "" for administrators
  Deadline deadline_;
  RequestReader reader_;

  asio::steady_timer wake_; ///< cancelled when the answer is ready
  std::optional<api::Answer> answer_;
  std::uint64_t asked_ = 0; ///< requests handed to the service; the last one is pending
  std::shared_ptr<EventStream> stream_;
};

} // namespace tributary::rest
