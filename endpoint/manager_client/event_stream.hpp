// Reading the manager's event stream (/api/v1/events, server-sent events).
//
//   EventStream events(settings, after);
//   while (const auto event = events.next(std::chrono::seconds(1))) ...
//
// Holds a connection of its own. When that breaks, or the manager does not say for 45 s that it is
// there, as it does every 15 s, `next` throws ManagerError; a new stream with
// `after` = the number of the last event seen goes on behind it, across restarts of the manager,
// too. What the manager does not have any more is told by an event of kind "gap". One thread at a
// time, but for `cancel`.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tributary::manager_client {

struct Event {
  std::uint64_t number = 0;
  std::string kind; ///< "group", "link", "switch", ..., "gap"
  boost::json::value body;
};

class EventStream {
public:
  /// Connects and asks for the events behind number `after`; 0 for all that are kept. `query`
  /// selects some: "?job=training", encoded.
  explicit EventStream(const ClientSettings& settings, std::uint64_t after = 0,
                       const std::string& query = {});
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  /// The next event, or nothing when none came within `limit`.
  std::optional<Event> next(std::chrono::milliseconds limit);
  /// Behind which number a new stream goes on: that of the last event that `next` gave, or further
  /// on where the manager has said that nothing was for this reader.
  [[nodiscard]] std::uint64_t seen() const;
  /// Ends a `next` that waits, and every later one, with ManagerError of kind `cancelled`.
  void cancel();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tributary::manager_client
