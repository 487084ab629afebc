// A connection that has become a stream of events (text/event-stream), until the reader goes away,
// has missed some, may not read any more, or the server stops. What waits to be sent waits in the
// service's log: the stream itself holds a few of them as text, and no more for a reader that
// stalls. Event loop thread.
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

/// id, event and data lines, and the empty line that ends it.
[[nodiscard]] std::string event_text(const api::ShownEvent& event);

class EventStream : public std::enable_shared_from_this<EventStream> {
public:
  /// The transport and the deadline outlive `run`.
  EventStream(Shared& shared, Transport& transport, Deadline& deadline);

  /// Reads from now on. What the service throws comes through.
  void begin(const api::Caller& caller, const api::EventsRequest& request);
  /// Sends `header`, and then the events.
  asio::awaitable<void> run(std::string header);
  /// Nothing more is to be sent.
  void end();

private:
  /// Those that are due, until there is enough for once.
  [[nodiscard]] std::string take();
  /// The reader is shown that the manager is there, and how far it has read: not far behind what is
  /// kept, though nothing is for it.
  [[nodiscard]] std::string sign_of_life();
  asio::awaitable<void> watch_for_end();

  Shared& shared_;
  Transport& transport_;
  Deadline& deadline_;
  asio::steady_timer wake_; ///< cancelled when something has happened
  std::function<bool()> may_read_;
  std::unique_ptr<api::EventReader> reader_; ///< empty: it is to end
  std::uint64_t shown_ = 0;                  ///< number that the reader has
};

} // namespace tributary::rest
