// One client's connection: request after request, each read, checked, handed to the service, and
// answered. Event loop thread.
//
//   header --> refused? answer, close       408 413 431 400; 404 405 415 before the body is read
//     |
//   body ----> refused? answer, close       408 413 400
//     |
//   route.ask(service, ...)                 400 keeps the connection
//     |
//   the Reply, at once or later ----------> answer, next request
//
// The next request is parsed when the last one is answered, so that pipelined requests are answered
// in their order. A connection that ends before its answer comes leaves a Reply that does nothing.
// A connection is closed gently: what the client still sends is read for a while, because closing
// over unread bytes would tear the answer away from it.
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

namespace tributary::rest {

struct Peer {
  std::string name; ///< "10.1.2.3", "2001:db8:1:2::/64", "user 1000"
  bool administrator = false;
  net::ConnectionShares::Id id = 0; ///< of the connection
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(std::shared_ptr<Shared> shared, std::unique_ptr<Transport> transport, Peer peer);

  /// Until the connection is over. `busy`: there are too many already; this one is told so.
  asio::awaitable<void> run(bool busy);
  /// The server stops: ends an idle connection or an event stream now, another one with the answer
  /// under way.
  void stop();
  /// Ends whatever is under way.
  void close();

private:
  /// What an answer is sent with.
  struct Manner {
    bool keep_alive = false;
    bool with_body = true;
  };
  class Pending;

  /// Whether the connection goes on.
  asio::awaitable<bool> serve_one();
  asio::awaitable<bool> refuse_busy();
  /// What can be said without the body: a refusal, or nothing, with match and call filled in.
  [[nodiscard]] std::optional<Response> refuse_early(Match& match, Call& call);
  /// Nothing when the connection has been an event stream, which is over now.
  asio::awaitable<std::optional<Response>> respond(const Route& route, const Call& call,
                                                   bool with_body);
  asio::awaitable<api::Answer> ask(const Route& route, const Call& call);
  /// In parts: the loop goes on between them.
  asio::awaitable<Response> metrics();
  /// What needs no call of the service.
  [[nodiscard]] Response respond_alone(Route::Kind kind) const;
  /// A file of the view in the browser: the one that the path names, or its page.
  [[nodiscard]] static Response page(const Call& call);
  [[nodiscard]] Response kept_events(const api::Caller& caller,
                                     const api::EventsRequest& request) const;
  /// Why there may not be another stream for this caller, or nothing.
  [[nodiscard]] std::optional<api::Answer> refuse_stream(const api::Caller& caller) const;
  /// The rest of the connection: what has begun goes on.
  asio::awaitable<void> stream(const api::Caller& caller);
  /// Whose share of the connections this one is in from now on.
  void note_caller(const api::Caller& caller);
  /// False when the client is gone, or the connection closed because of `manner`.
  asio::awaitable<bool> send(Response response, Manner manner);
  asio::awaitable<void> finish();

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Transport> transport_;
  Peer peer_;
  std::string caller_; ///< "job red", or the peer's name; "" of administrators
  Deadline deadline_;
  RequestReader reader_;

  asio::steady_timer wake_; ///< cancelled when the answer has come
  std::optional<api::Answer> answer_;
  std::uint64_t asked_ = 0; ///< requests handed to the service; the last is the one waited for
  std::shared_ptr<EventStream> stream_;
};

} // namespace tributary::rest
