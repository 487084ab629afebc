// Events for tests.
#pragma once

#include "endpoint/events/event.hpp"
#include "tributary/event_codes.hpp"

namespace tributary::events {

inline int code(std::string_view name) { return find_event_code(name)->number; }

inline Event made(std::uint64_t sequence, std::string_view name = "link_down",
                  Scope scope = Scope::job) {
  Event event;
  event.code = code(name);
  event.scope = scope;
  event.epoch = 1;
  event.sequence = sequence;
  event.text = std::string(name);
  event.details = "{}";
  return event;
}

} // namespace tributary::events
