// A connection that has become a stream of events (text/event-stream), until the reader goes away,
// falls too far behind, or the server stops. Event loop thread.
#pragma once

#include "controlplane/api/requests.hpp"
#include "controlplane/rest/deadline.hpp"
#include "controlplane/rest/event_queue.hpp"
#include "controlplane/rest/shared.hpp"
#include "controlplane/rest/transport.hpp"

#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tributary::rest {

/// All that the caller may see, or what one job is to hear of.
[[nodiscard]] std::function<void()> follow_events(api::Service& service, const api::Caller& caller,
                                                  const api::EventsRequest& request,
                                                  std::function<void(const api::Event&)> sink);

class EventStream : public std::enable_shared_from_this<EventStream> {
public:
  /// The transport and the deadline outlive `run`.
  EventStream(Shared& shared, Transport& transport, Deadline& deadline);

  /// Subscribes; what was kept is in the queue then. What the service throws comes through.
  void begin(const api::Caller& caller, const api::EventsRequest& request);
  /// Sends `header`, and then what is in the queue.
  asio::awaitable<void> run(std::string header);
  /// Nothing more is to be sent.
  void end();

private:
  void event_came(const api::Event& event);
  asio::awaitable<void> watch_for_end();

  Shared& shared_;
  Transport& transport_;
  Deadline& deadline_;
  EventQueue queue_;
  asio::steady_timer wake_; ///< cancelled when something has happened
  std::function<void()> unsubscribe_;
  bool ended_ = false;
};

} // namespace tributary::rest
