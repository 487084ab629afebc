// The C API of tributary/events.h: no exception crosses it, and each failure leaves a code and a
// message.
#include "endpoint/event_library/session.hpp"

#include "tributary/event_codes.hpp"

#include <new>
#include <string>
#include <system_error>
#include <variant>

struct tributary_events : tributary::event_library::Session {
  using Session::Session;
};

namespace tributary::event_library {

namespace {

// The C header's numbers are those of the table.
static_assert(find_event_code("link_down")->number == TRIBUTARY_EVENT_LINK_DOWN);
static_assert(find_event_code("link_up")->number == TRIBUTARY_EVENT_LINK_UP);
static_assert(find_event_code("route_changed")->number == TRIBUTARY_EVENT_ROUTE_CHANGED);
static_assert(find_event_code("tree_repaired")->number == TRIBUTARY_EVENT_TREE_REPAIRED);
static_assert(find_event_code("group_destroyed")->number == TRIBUTARY_EVENT_GROUP_DESTROYED);
static_assert(find_event_code("switch_suspect")->number == TRIBUTARY_EVENT_SWITCH_SUSPECT);
static_assert(find_event_code("switch_cleared")->number == TRIBUTARY_EVENT_SWITCH_CLEARED);
static_assert(find_event_code("congestion")->number == TRIBUTARY_EVENT_CONGESTION);
static_assert(find_event_code("congestion_over")->number == TRIBUTARY_EVENT_CONGESTION_OVER);
static_assert(find_event_code("peer_quarantined")->number == TRIBUTARY_EVENT_PEER_QUARANTINED);
static_assert(find_event_code("peer_released")->number == TRIBUTARY_EVENT_PEER_RELEASED);
static_assert(find_event_code("node_changed")->number == TRIBUTARY_EVENT_NODE_CHANGED);
static_assert(find_event_code("events_lost")->number == TRIBUTARY_EVENT_EVENTS_LOST);
static_assert(event_codes.size() == 13);

std::string& message() {
  thread_local std::string text;
  return text;
}

int fail(int code, std::string text) {
  message() = std::move(text);
  return code;
}

template <typename F> int guarded(F&& f) noexcept {
  try {
    return f();
  } catch (const SourceError& error) {
    return fail(error.is_absent() ? TRIBUTARY_ERR_NOT_READY : TRIBUTARY_ERR_SYSTEM, error.what());
  } catch (const std::bad_alloc&) {
    message().clear();
    return TRIBUTARY_ERR_MEMORY;
  } catch (const std::exception& error) {
    return fail(TRIBUTARY_ERR_SYSTEM, error.what());
  }
}

int no_argument(const char* what) {
  return fail(TRIBUTARY_ERR_ARGUMENT, std::string(what) + " is NULL");
}

std::string text_or_nothing(const char* text) { return text == nullptr ? "" : text; }

} // namespace

} // namespace tributary::event_library

namespace {
using tributary::event_library::fail;
using tributary::event_library::guarded;
using tributary::event_library::no_argument;
using tributary::event_library::text_or_nothing;
} // namespace

extern "C" {

size_t tributary_event_result_count(const struct tributary_event_chain* chain) {
  return chain == nullptr ? 0 : chain->results->size() + chain->added.size();
}

struct tributary_event_result tributary_event_get_result(const struct tributary_event_chain* chain,
                                                         size_t index) {
  if (index >= tributary_event_result_count(chain)) {
    return {nullptr, nullptr, nullptr};
  }
  const std::size_t before = chain->results->size();
  const auto& result = index < before ? (*chain->results)[index] : chain->added[index - before];
  return {result.handler.c_str(), result.name.c_str(), result.value.c_str()};
}

int tributary_event_add_result(struct tributary_event_chain* chain, const char* name,
                               const char* value) {
  if (chain == nullptr || name == nullptr) {
    return no_argument(chain == nullptr ? "chain" : "name");
  }
  return guarded([&] {
    chain->added.push_back({"", name, text_or_nothing(value)});
    return TRIBUTARY_OK;
  });
}

struct tributary_event_handler_options
tributary_event_handler_defaults(tributary_event_handler handler, void* data) {
  struct tributary_event_handler_options options = {};
  options.handler = handler;
  options.data = data;
  options.past = 1;
  return options;
}

int tributary_events_open(const struct tributary_events_options* options,
                          struct tributary_events** events) {
  if (events == nullptr) {
    return no_argument("events");
  }
  *events = nullptr;
  const int delivery = options == nullptr ? TRIBUTARY_EVENTS_THREAD : options->delivery;
  if (delivery != TRIBUTARY_EVENTS_THREAD && delivery != TRIBUTARY_EVENTS_CALLER) {
    return fail(TRIBUTARY_ERR_ARGUMENT, "delivery is not an enum tributary_events_delivery");
  }
  return guarded([&] {
    *events = new tributary_events(delivery == TRIBUTARY_EVENTS_THREAD);
    return TRIBUTARY_OK;
  });
}

void tributary_events_close(struct tributary_events* events) { delete events; }

int tributary_events_register(struct tributary_events* events,
                              const struct tributary_event_handler_options* options,
                              uint64_t* handler) {
  using tributary::events::HandlerId;
  using tributary::events::Handlers;
  if (events == nullptr || options == nullptr || handler == nullptr) {
    return no_argument(events == nullptr ? "events" : options == nullptr ? "options" : "handler");
  }
  *handler = 0;
  if (options->handler == nullptr || (options->codes == nullptr && options->code_count != 0)) {
    return no_argument(options->handler == nullptr ? "options->handler" : "options->codes");
  }
  if (options->place < TRIBUTARY_EVENT_PLACE_BY_CODES ||
      options->place > TRIBUTARY_EVENT_PLACE_LAST ||
      options->order < TRIBUTARY_EVENT_ORDER_NEWEST_FIRST ||
      options->order > TRIBUTARY_EVENT_ORDER_AFTER) {
    return fail(TRIBUTARY_ERR_ARGUMENT, "place or order is not a value of its enum");
  }
  if (options->environment != 0 && options->code_count == 0) {
    return fail(TRIBUTARY_ERR_ARGUMENT,
                "the environment is requested by codes, and options->codes is empty");
  }
  return guarded([&] {
    tributary::events::HandlerOptions wanted;
    wanted.name = text_or_nothing(options->name);
    if (options->code_count != 0) {
      wanted.codes.assign(options->codes, options->codes + options->code_count);
    }
    wanted.place = static_cast<tributary::events::Place>(options->place);
    wanted.order = static_cast<tributary::events::Order>(options->order);
    wanted.relative_to = text_or_nothing(options->relative_to);
    wanted.environment = options->environment != 0;
    wanted.past = options->past != 0;
    const Handlers::Added added = events->add(std::move(wanted), {options->handler, options->data});
    if (const auto* const error = std::get_if<Handlers::Error>(&added)) {
      return fail(error->kind == Handlers::Error::Kind::taken ? TRIBUTARY_ERR_BUSY
                                                              : TRIBUTARY_ERR_ARGUMENT,
                  error->text);
    }
    *handler = std::get<HandlerId>(added);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_events_deregister(struct tributary_events* events, uint64_t handler) {
  if (events == nullptr) {
    return no_argument("events");
  }
  return guarded([&] {
    return events->remove(handler)
               ? static_cast<int>(TRIBUTARY_OK)
               : fail(TRIBUTARY_ERR_ARGUMENT, "no such handler; it may have been deregistered");
  });
}

int tributary_events_on_chain_end(struct tributary_events* events, tributary_event_chain_end end,
                                  void* data) {
  if (events == nullptr) {
    return no_argument("events");
  }
  events->on_chain_end(end, data);
  return TRIBUTARY_OK;
}

int tributary_events_dispatch(struct tributary_events* events, int64_t timeout_usec) {
  if (events == nullptr) {
    return no_argument("events");
  }
  if (events->has_own_thread()) {
    return fail(TRIBUTARY_ERR_ARGUMENT,
                "a thread of the library calls handlers; open with TRIBUTARY_EVENTS_CALLER");
  }
  return guarded(
      [&] { return static_cast<int>(events->dispatch(std::chrono::microseconds(timeout_usec))); });
}

int tributary_events_fd(const struct tributary_events* events) {
  return events == nullptr ? no_argument("events") : events->fd();
}

const char* tributary_events_last_error(void) {
  return tributary::event_library::message().c_str();
}

const char* tributary_event_name(int code) {
  const tributary::EventCode* const known = tributary::find_event_code(code);
  return known == nullptr ? "unknown" : known->name.data(); // literals, which end with a zero
}

} // extern "C"
