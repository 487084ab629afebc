// A connection that has become a stream of events (text/event-stream), until the reader leaves, has
// missed events, may not read any more, or the server stops. Unsent events wait in the service's
// log: the stream itself holds a few of them as text, and no more for a reader that stalls. Event
// loop thread.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/rest/deadline.hpp"
#include "controlplane/rest/shared.hpp"
#include "controlplane/rest/transport.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tributary::rest {

class EventStream : public std::enable_shared_from_this<EventStream> {
public:
  /// The transport and the deadline must outlive `run`.
  EventStream(Shared& shared, Transport& transport, Deadline& deadline);

  /// Starts reading. Exceptions of the service are passed on.
  void begin(const api::Caller& caller, const api::EventsRequest& request);
  /// Sends `header`, and then the events.
  asio::awaitable<void> run(std::string header);
  /// Nothing more is to be sent.
  void end();

private:
  /// The events that are due, up to a limit.
  [[nodiscard]] std::string take();
  /// Shows the reader that the manager is alive, and its own position, so that a reader without
  /// events does not fall behind the log.
  [[nodiscard]] std::string sign_of_life();
  asio::awaitable<void> watch_for_end();

  Shared& shared_;
  Transport& transport_;
  Deadline& deadline_;
  asio::steady_timer wake_; ///< cancelled when an event is ready
  std::function<bool()> may_read_;
  std::unique_ptr<api::EventReader> reader_; ///< empty: the stream has to end
  std::uint64_t shown_ = 0;                  ///< the last number that the reader was sent
};

} // namespace tributary::rest
