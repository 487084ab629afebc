#include "controlplane/manager/event_log.hpp"

#include <utility>
#include <vector>

namespace tributary::manager {

void EventLog::add(std::string kind, boost::json::object body) {
  events_.push_back({++last_number_, std::move(kind), std::move(body)});
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

std::function<void()> EventLog::follow(std::uint64_t after, Sink sink) {
  for (const rest::Event& event : events_) {
    if (event.number > after) {
      sink(event);
    }
  }
  const std::uint64_t number = next_follower_++;
  followers_.emplace(number, std::move(sink));
  return [this, number] { followers_.erase(number); };
}

} // namespace tributary::manager
