// Reading the manager's event stream (/api/v1/events, server-sent events).
//
//   EventStream events(settings, after);
//   while (const auto event = events.next(std::chrono::seconds(1))) ...
//
// Holds a connection of its own. When that breaks, or the manager is silent for 45 s (it sends a
// sign of life every 15 s), `next` throws ManagerError; a new stream with `after` = the number of
// the last event seen continues after it, across restarts of the manager, too. An event of kind
// "gap" stands for events that the manager no longer has. One thread at a time, except for
// `cancel`.
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
  /// Connects, to the first of the addresses that answers, and asks for the events after number
  /// `after`; 0 for all that are kept. `query`
  /// selects some: "?job=training", encoded.
  explicit EventStream(const ClientSettings& settings, std::uint64_t after = 0,
                       const std::string& query = {});
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  /// The next event, or nullopt when none arrived within `limit`.
  std::optional<Event> next(std::chrono::milliseconds limit);
  /// The number after which a new stream continues: that of the last event that `next` gave, or a
  /// later one where the manager has reported that the events up to it do not concern this reader.
  [[nodiscard]] std::uint64_t seen() const;
  /// Ends a waiting `next`, and every later one, with ManagerError of kind `cancelled`.
  void cancel();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tributary::manager_client
