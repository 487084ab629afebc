#include "controlplane/api/event_log.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace tributary::api {

void EventLog::add(std::string kind, boost::json::object body, std::string_view code,
                   std::vector<std::string> jobs) {
  events_.push_back({++last_number_, std::move(kind), std::move(body), code, std::move(jobs)});
  if (events_.size() > kept) {
    events_.pop_front();
  }
  // A sink may end its own or another's following while it is called.
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, sink] : followers_) {
    numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) {
    if (const auto found = followers_.find(number); found != followers_.end()) {
      const Sink sink = found->second;
      sink(events_.back());
    }
  }
}

Event EventLog::gap(std::uint64_t after, const std::string& time) const {
  const std::uint64_t next = events_.empty() ? last_number_ + 1 : events_.front().number;
  const bool restarted = after >> 32 != last_number_ >> 32;
  // Its number is the one before what follows: a reader that ends here comes back to the same
  // place.
  return {
      next - 1,
      "gap",
      boost::json::object{{"time", time},
                          {"text", fmt::format("events may be missing behind number {}: {}", after,
                                               restarted ? "the manager was started anew since"
                                               : after > last_number_
                                                   ? "it was not given to any event"
                                                   : "those that came next are not kept any more")},
                          {"after", after},
                          {"next", next}},
      {},
      {}};
}

std::function<void()> EventLog::follow(std::uint64_t after, const std::string& time, Sink sink) {
  const std::uint64_t first = events_.empty() ? last_number_ + 1 : events_.front().number;
  if (after != 0 && (after + 1 < first || after > last_number_)) {
    sink(gap(after, time));
    after = 0;
  }
  for (const Event& event : events_) {
    if (event.number > after) {
      sink(event);
    }
  }
  const std::uint64_t number = next_follower_++;
  followers_.emplace(number, std::move(sink));
  return [this, number] { followers_.erase(number); };
}

} // namespace tributary::api
