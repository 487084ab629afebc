#include "endpoint/launcher/control/event_relay.hpp"

#include "tributary/event_codes.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

namespace tributary::launch::control {

namespace {

messages::Value& add(messages::Notice& notice, const char* name) {
  messages::Value& value = *notice.add_values();
  value.set_name(name);
  return value;
}

void add_number(messages::QueryAnswer& answer, const char* name, std::uint64_t number) {
  messages::Value& value = *answer.add_values();
  value.set_name(name);
  value.set_number(static_cast<std::uint32_t>(number));
}

std::string_view qualifier(const messages::Query& query, std::string_view name) {
  for (const messages::Variable& each : query.qualifiers()) {
    if (each.name() == name) {
      return each.value();
    }
  }
  return {};
}

/// Takes a number of exactly `count` digits off the front; -1 when there is none.
int digits(std::string_view& text, std::size_t count) {
  int number = 0;
  const std::string_view part = text.substr(0, count);
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  const bool whole = part.size() == count && error == std::errc{} && end == part.data() + count;
  text.remove_prefix(part.size());
  return whole ? number : -1;
}

bool take_off(std::string_view& text, char c) {
  const bool there = text.starts_with(c);
  text.remove_prefix(there ? 1 : 0);
  return there;
}

} // namespace

std::int64_t nanoseconds_of(const std::string& time) {
  namespace chrono = std::chrono;
  std::string_view text = time;
  const int year = digits(text, 4);
  bool right = take_off(text, '-');
  const int month = digits(text, 2);
  right = take_off(text, '-') && right;
  const int day = digits(text, 2);
  right = take_off(text, 'T') && right;
  const int hour = digits(text, 2);
  right = take_off(text, ':') && right;
  const int minute = digits(text, 2);
  right = take_off(text, ':') && right;
  const int second = digits(text, 2);
  std::int64_t fraction = 0;
  if (take_off(text, '.')) {
    std::int64_t scale = 1'000'000'000;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9' && scale > 1) {
      scale /= 10;
      fraction += scale * (text.front() - '0');
      text.remove_prefix(1);
    }
  }
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!right || std::min({year, month, day, hour, minute, second}) < 0 || text != "Z" ||
      !date.ok()) {
    return 0;
  }
  const chrono::sys_seconds whole = chrono::sys_days(date) + chrono::hours(hour) +
                                    chrono::minutes(minute) + chrono::seconds(second);
  return chrono::nanoseconds(whole.time_since_epoch()).count() + fraction;
}

std::optional<messages::Notice> EventRelay::take(const FabricEvent& event) {
  const EventCode* const code = find_event_code(event.code);
  const bool is_lost = code != nullptr && event.code == "events_lost";
  // A manager that has lost its numbers restarts below those that were seen, and reports it.
  if (code == nullptr || (event.number <= last_number_ && !is_lost)) {
    return std::nullopt;
  }
  last_number_ = event.number;
  events::Event own;
  own.code = code->number;
  own.scope = event.of_environment ? events::Scope::environment : events::Scope::job;
  own.epoch = static_cast<std::uint32_t>(event.number >> 32U);
  own.sequence = ++last_sequence_;
  own.time_ns = nanoseconds_of(event.time);
  own.text = event.text;
  own.details = event.details;
  kept_.push_back(events::text_of(own));
  if (kept_.size() > most_kept) {
    kept_.pop_front();
  }
  messages::Notice notice;
  notice.set_code(own.code);
  add(notice, "fm.event").set_text(kept_.back());
  // For ranks that listen without our library.
  add(notice, "fm.epoch").set_number(own.epoch);
  add(notice, "fm.seq").set_number(static_cast<std::uint32_t>(own.sequence));
  add(notice, "fm.scope").set_text(std::string(events::name_of(own.scope)));
  add(notice, "fm.text").set_text(own.text);
  add(notice, "fm.details").set_text(own.details);
  return notice;
}

messages::QueryAnswer EventRelay::answer(const messages::Query& query) {
  messages::QueryAnswer answer;
  answer.set_number(query.number());
  std::string_view wanted = qualifier(query, "fm.environment");
  while (!wanted.empty()) {
    const std::string_view name = wanted.substr(0, wanted.find(','));
    wanted.remove_prefix(std::min(wanted.size(), name.size() + 1));
    const EventCode* const code = find_event_code(name);
    if (code != nullptr && code->of_environment) {
      subscription_changed_ =
          environment_.insert(std::string(name)).second || subscription_changed_;
    }
  }
  std::uint64_t after = 0;
  const std::string_view text = qualifier(query, "fm.after");
  std::from_chars(text.data(), text.data() + text.size(), after);
  const std::uint64_t first = last_sequence_ - kept_.size() + 1;
  add_number(answer, "fm.first", first);
  add_number(answer, "fm.last", last_sequence_);
  const std::uint64_t from = std::max(after + 1, first);
  for (std::uint64_t sequence = from;
       sequence <= last_sequence_ && sequence < from + most_in_an_answer; ++sequence) {
    messages::Value& value = *answer.add_values();
    value.set_name("fm.event");
    value.set_text(kept_[sequence - first]);
  }
  return answer;
}

} // namespace tributary::launch::control
