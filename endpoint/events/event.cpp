#include "endpoint/events/event.hpp"

#include "tributary/event_codes.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tributary::events {

namespace {

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

template <typename Number> bool read(std::string_view text, Number& number) {
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && after == text.data() + text.size();
}

/// Replaces line breaks, which would end the line of the event.
std::string line_of(std::string text) {
  for (char& c : text) {
    c = c == '\n' ? ' ' : c;
  }
  return text;
}

} // namespace

std::string_view name_of(Scope scope) { return scope == Scope::job ? "job" : "environment"; }

std::string text_of(const Event& event) {
  return fmt::format("{} {} {} {} {}\n{}\n{}", event.code, name_of(event.scope), event.epoch,
                     event.sequence, event.time_ns, line_of(event.text), line_of(event.details));
}

std::optional<Event> event_of(std::string_view text) {
  std::string_view head = take_until(text, '\n');
  Event event;
  const bool has_code = read(take_until(head, ' '), event.code);
  const std::string_view scope = take_until(head, ' ');
  if (!has_code || (scope != "job" && scope != "environment") ||
      !read(take_until(head, ' '), event.epoch) || !read(take_until(head, ' '), event.sequence) ||
      !read(head, event.time_ns) || event.sequence == 0) {
    return std::nullopt;
  }
  event.scope = scope == "job" ? Scope::job : Scope::environment;
  event.text = take_until(text, '\n');
  event.details = text;
  return event;
}

Event events_lost(std::uint64_t first, std::uint64_t last, std::uint32_t epoch) {
  Event lost;
  lost.code = find_event_code("events_lost")->number;
  lost.epoch = epoch;
  lost.sequence = last;
  lost.text = fmt::format("events {} to {} are lost: they are no longer kept", first, last);
  lost.details = "{}";
  return lost;
}

} // namespace tributary::events
