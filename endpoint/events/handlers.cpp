#include "endpoint/events/handlers.hpp"

#include "tributary/event_codes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::events {

using Kind = Handlers::Error::Kind;

std::size_t Handlers::list_of(const HandlerOptions& options) {
  switch (options.place) {
  case Place::first: return first_list;
  case Place::last: return last_list;
  case Place::by_codes: break;
  }
  return options.codes.empty() ? any_list : options.codes.size() == 1 ? single_list : several_list;
}

std::optional<Handlers::Error> Handlers::problem(const HandlerOptions& options) const {
  for (const int code : options.codes) {
    if (find_event_code(code) == nullptr) {
      return Error{Kind::argument,
                   fmt::format("{} is not a code of an event; tributary/events.h has them", code)};
    }
  }
  if (options.place != Place::by_codes && !lists_[list_of(options)].empty()) {
    return Error{Kind::taken,
                 fmt::format("a handler is already the {} of all{}{}; deregister it",
                             options.place == Place::first ? "first" : "last",
                             lists_[list_of(options)].front().options.name.empty() ? "" : ": ",
                             lists_[list_of(options)].front().options.name)};
  }
  const bool is_relative = options.order == Order::before || options.order == Order::after;
  if (is_relative && options.place != Place::by_codes) {
    return Error{Kind::argument,
                 "the first and the last of all have no handler before or after them"};
  }
  if (!options.name.empty()) {
    for (const List& list : lists_) {
      if (std::ranges::any_of(list,
                              [&](const Handler& h) { return h.options.name == options.name; })) {
        return Error{Kind::taken, fmt::format("a handler named {} exists already", options.name)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Handlers::Error> Handlers::insert(List& list, Handler handler) {
  const auto ordered = [&list](Order order) {
    return std::ranges::find_if(list,
                                [order](const Handler& h) { return h.options.order == order; });
  };
  const Order order = handler.options.order;
  if ((order == Order::first || order == Order::last) && ordered(order) != list.end()) {
    return Error{Kind::taken, fmt::format("a handler is already the {} of its category",
                                          order == Order::first ? "first" : "last")};
  }
  // No handler precedes the first, or follows the last of a category.
  const auto front = list.begin() + (ordered(Order::first) != list.end() ? 1 : 0);
  const auto back = list.end() - (ordered(Order::last) != list.end() ? 1 : 0);
  auto at = front;
  switch (order) {
  case Order::newest_first: break;
  case Order::append: at = back; break;
  case Order::first: at = list.begin(); break;
  case Order::last: at = list.end(); break;
  case Order::before:
  case Order::after: {
    const auto other = std::ranges::find_if(list, [&](const Handler& h) {
      return !h.options.name.empty() && h.options.name == handler.options.relative_to;
    });
    if (other == list.end()) {
      return Error{Kind::argument,
                   fmt::format("no handler called '{}' in the same category (those of one "
                               "code, of several, of none)",
                               handler.options.relative_to)};
    }
    at = order == Order::before ? other : other + 1;
    if (at < front || at > back) {
      return Error{Kind::taken,
                   fmt::format("'{}' is the {} of its category", handler.options.relative_to,
                               at < front ? "first" : "last")};
    }
    break;
  }
  }
  list.insert(at, std::move(handler));
  return std::nullopt;
}

Handlers::Added Handlers::add(HandlerOptions options) {
  std::ranges::sort(options.codes);
  // Not from std::ranges: clang 14 does not support its return type.
  options.codes.erase(std::unique(options.codes.begin(), options.codes.end()), options.codes.end());
  if (auto error = problem(options)) {
    return *std::move(error);
  }
  List& list = lists_[list_of(options)];
  if (auto error = insert(list, {next_, std::move(options)})) {
    return *std::move(error);
  }
  return next_++;
}

bool Handlers::remove(HandlerId id) {
  return std::ranges::any_of(lists_, [id](List& list) {
    return std::erase_if(list, [id](const Handler& handler) { return handler.id == id; }) != 0;
  });
}

const HandlerOptions* Handlers::find(HandlerId id) const {
  for (const List& list : lists_) {
    const auto found = std::ranges::find(list, id, &Handler::id);
    if (found != list.end()) {
      return &found->options;
    }
  }
  return nullptr;
}

bool Handlers::wants(const HandlerOptions& handler, const Event& event) {
  const bool in_scope = event.scope == Scope::job || handler.environment;
  return in_scope &&
         (handler.codes.empty() || std::ranges::binary_search(handler.codes, event.code));
}

std::vector<HandlerId> Handlers::chain_of(const Event& event) const {
  std::vector<HandlerId> chain;
  for (const List& list : lists_) {
    for (const Handler& handler : list) {
      if (wants(handler.options, event)) {
        chain.push_back(handler.id);
      }
    }
  }
  return chain;
}

std::vector<HandlerId> Handlers::all() const {
  std::vector<HandlerId> ids;
  for (const List& list : lists_) {
    for (const Handler& handler : list) {
      ids.push_back(handler.id);
    }
  }
  std::ranges::sort(ids);
  return ids;
}

} // namespace tributary::events
